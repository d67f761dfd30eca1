/** Small servers that speak TLS, or do not, for what real stores and brokers cannot be made to say. */
import type net from 'node:net';
import type { AddressInfo } from 'node:net';
import tls, { type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';

/** The port of a server on 127.0.0.1 that goes with the test. */
export async function listen(server: net.Server): Promise<number> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // It was given a host and a port, so the address is not a pipe's.
  return (server.address() as AddressInfo).port;
}

export function tlsServer(options: TlsOptions): Promise<number> {
  return listen(tls.createServer(options, () => {}).on('tlsClientError', () => {}));
}
