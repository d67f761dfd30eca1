/**
 * Picks TCP ports that nobody listens on, below the ranges from which systems draw ports for outgoing connections,
 * so that a connection made a moment later does not take one. A port can still be lost to another process between
 * the probe and the server's own bind: callers start again with other ports then.
 * Failure: SERVICE_START when the range is full.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { MailjoinError } from '../domain/errors.js';

const PORT_FIRST = 20_000;
const PORT_LAST = 30_000;
const ATTEMPTS_MAX = 200;

/** `count` distinct ports, each free on every one of the addresses. */
export async function freePorts(count: number, hosts: readonly string[]): Promise<readonly number[]> {
  const ports = new Set<number>();
  for (let attempt = 0; attempt < ATTEMPTS_MAX && ports.size < count; attempt++) {
    const port = randomInt(PORT_FIRST, PORT_LAST);
    if (ports.has(port)) continue;
    const free = await Promise.all(hosts.map((host) => isFree(host, port)));
    if (free.every(Boolean)) ports.add(port);
  }
  if (ports.size < count) throw new MailjoinError('SERVICE_START', 'no free TCP ports were found');
  return [...ports];
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
