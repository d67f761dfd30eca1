/**
 * Fills a store with conversations of consecutive messages, sealed with a DEK for each conversation. Bodies come to
 * about 560 bytes. Ids are random, so that a store may be filled more than once.
 */
import { randomBytes } from 'node:crypto';
import { wrapDek } from '../dist/crypto/key-wrap.js';
import { sealPayload } from '../dist/crypto/payload.js';

const PAYLOAD_BYTES = 420;
const WRITES_AT_ONCE = 128;

/**
 * @returns conversations of `messages` each: { tenantId, conversationId, dek, dekId, seqs, messageIds }
 */
export async function fill({ store, keys }, kek, tenantId, conversations, messages) {
  const filled = await each(conversations, 32, async () => {
    const conversationId = randomBytes(16);
    const dek = randomBytes(32);
    const dekId = { scope: tenantId.toString('hex'), id: conversationId.toString('hex'), version: 1 };
    await keys.insert({
      dekId,
      wrapped: wrapDek(kek, dekId, dek),
      createdAtEpochMs: Date.now(),
      destroyedAtEpochMs: undefined,
    });
    return { tenantId, conversationId, dek, dekId, seqs: [], messageIds: [] };
  });
  for (const conversation of filled) {
    for (let seq = 1n; seq <= BigInt(messages); seq++) {
      conversation.seqs.push(seq);
      conversation.messageIds.push(randomBytes(16));
    }
  }
  await each(conversations * messages, WRITES_AT_ONCE, (index) => {
    return insert(store, filled[Math.floor(index / messages)], index % messages);
  });
  return filled;
}

function insert(store, { tenantId, conversationId, dek, dekId, seqs, messageIds }, index) {
  const seq = seqs[index];
  const createdAtMs = BigInt(Date.now());
  const plaintext = randomBytes(PAYLOAD_BYTES);
  const record = {
    seq,
    messageId: messageIds[index],
    lastActivityId: messageIds[index],
    senderId: randomBytes(16),
    senderDeviceId: randomBytes(16),
    clientMessageId: `bench-${index}`,
    messageType: 1,
    customType: undefined,
    schemaVersion: 1,
    payload: sealPayload({ tenantId, conversationId, seq, dek, dekId, plaintext }),
    mediaMetadata: undefined,
    replyToSeq: undefined,
    mentionTargets: undefined,
    state: 0,
    recallEventSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs,
    retentionClass: 0,
    dekId,
    ttlSeconds: undefined,
  };
  const life = { ttlSeconds: 30 * 86_400, timestampMicros: createdAtMs * 1000n };
  return store.insertRecord({ tenantId, conversationId, seq }, record, life);
}

/** Runs `work(index)` for 0 … count − 1, at most `atOnce` at a time; the answers in order. */
export async function each(count, atOnce, work) {
  const answers = new Array(count);
  let next = 0;
  const run = async () => {
    while (next < count) {
      const index = next++;
      answers[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, run));
  return answers;
}
