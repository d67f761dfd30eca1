/**
 * A client against a raw server, the requests it sends, and the ways in which the server may answer. Whatever was
 * started is stopped by `stopAll`, which each file calls after each of its tests.
 */
import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { type ClientOptions, type JoinRequest, MailjoinClient } from '../../src/client/index.js';
import { answer, decodeRequest, idOf } from './contract.js';
import { type RawRequest, type RawServer, startRawServer } from './raw-server.js';

const stops: (() => Promise<unknown>)[] = [];

export function stopLater(stop: () => Promise<unknown>): void {
  stops.push(stop);
}

export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}

export async function serve(
  onRequest: (request: RawRequest) => void,
  options: Partial<ClientOptions> = {},
  onConnection?: (socket: Socket) => void,
): Promise<{ server: RawServer; client: MailjoinClient }> {
  const server = await startRawServer(onRequest, onConnection);
  const client = new MailjoinClient({ socketPath: server.socketPath, ...options });
  stops.push(() => client.close(), server.stop);
  return { server, client };
}

export function batch(ids: readonly number[], more: Partial<JoinRequest> = {}): JoinRequest {
  const entries = ids.map((id) => ({ conversationId: idOf(1), seq: BigInt(id), messageId: idOf(id) }));
  return { kind: 'MAILBOX_BATCH', tenantId: Buffer.alloc(16, 9), entries, ...more };
}

/** Answers what was asked. */
export function honest({ body, socket }: RawRequest): void {
  socket.write(answer(decodeRequest(body)));
}

/** Sends each part when the one before has been taken by the kernel and the loop has turned. */
export function inParts(socket: Socket, parts: readonly Uint8Array[]): void {
  const [first, ...rest] = parts;
  if (first !== undefined) socket.write(first, () => setImmediate(inParts, socket, rest));
}

/** An error of this code. */
export function coded(code: string): unknown {
  return expect.objectContaining({ code });
}

/** Turns the loop until the condition holds; the test's own time limit is the bound. */
export async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
