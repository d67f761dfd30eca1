/**
 * A server on a temporary Unix socket that speaks raw bytes, so that tests can answer in ways that no HTTP library
 * would. Requests are framed by their Content-Length; what is sent back, and when, is the test's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RawRequest {
  readonly head: string;
  readonly body: Buffer;
  /** How many requests this connection has sent before. */
  readonly index: number;
  readonly socket: Socket;
}

export interface RawServer {
  readonly socketPath: string;
  /** Connections accepted so far. */
  accepted(): number;
  /** Connections open now. */
  open(): number;
  stop(): Promise<void>;
}

export async function startRawServer(
  onRequest: (request: RawRequest) => void,
  onConnection?: (socket: Socket) => void,
): Promise<RawServer> {
  const folder = mkdtempSync(join(tmpdir(), 'mailjoin-client-'));
  const socketPath = join(folder, 'raw.sock');
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A client that drops its connection resets it; that is what many of these tests are about.
    socket.on('error', () => socket.destroy());
    onConnection?.(socket);
    frameRequests(socket, onRequest);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    accepted: () => accepted,
    open: () => sockets.size,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function frameRequests(socket: Socket, onRequest: (request: RawRequest) => void): void {
  let pending = Buffer.alloc(0);
  let index = 0;
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const head = pending.subarray(0, headEnd).toString('latin1');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const end = headEnd + 4 + length;
      if (pending.length < end) return;
      const body = pending.subarray(headEnd + 4, end);
      pending = pending.subarray(end);
      onRequest({ head, body, index: index++, socket });
    }
  });
}
