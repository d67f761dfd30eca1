/**
 * The two load generators: our client, and autocannon with the same bytes. Both are bounded in count and in time.
 */
import autocannon from 'autocannon';
import { each } from './fill.mjs';

/** A request for references { conversation, at }. */
export function requestOf(references, more = {}) {
  const { tenantId } = references[0].conversation;
  const entries = references.map(({ conversation, at }) => ({
    conversationId: conversation.conversationId,
    seq: conversation.seqs[at],
    messageId: conversation.messageIds[at],
  }));
  return { kind: 'MAILBOX_BATCH', tenantId, entries, deadlineMs: 20_000, ...more };
}

/** Joins every batch once, `atOnce` at a time. Every entry must be OK. */
export async function joinAll(client, requests, atOnce) {
  let messages = 0;
  await each(requests.length, atOnce, async (index) => {
    const { entries } = await client.join(requests[index]);
    for (const { result } of entries) if (result !== 'OK') throw new Error(`a bench message is ${result}`);
    messages += entries.length;
  });
  return { messages, batches: requests.length };
}

/** Joins one request again and again for a while, and looks at every body. */
export async function joinFor(client, request, atOnce, durationMs) {
  let batches = 0;
  let bytes = 0;
  const endsMs = performance.now() + durationMs;
  const run = async () => {
    while (performance.now() < endsMs) {
      const { entries } = await client.join(request);
      for (const { body } of entries) bytes += body.length;
      batches++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  const messages = batches * request.entries.length;
  return { messages, batches, bodyBytes: bytes / messages };
}

/** The same load by autocannon: `body` again and again for a while, without pipelining. */
export async function cannonFor(socketPath, body, contentType, messages, connections, durationMs) {
  const result = await autocannon({
    url: 'http://mailjoin/v1/join',
    socketPath,
    method: 'POST',
    body,
    headers: { 'content-type': contentType },
    connections,
    pipelining: 1,
    duration: durationMs / 1000,
    // It looks at the time only once in an interval.
    sampleInt: 100,
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`autocannon: ${result.non2xx} refused, ${result.errors} failed`);
  }
  const batches = result.requests.total;
  const tookMs = result.finish - result.start;
  return { messages: batches * messages, batches, tookMs, bytes: result.throughput.total / batches };
}
