/**
 * What a gateway would do without a join: one point look-up per message through the same store adapter and driver
 * (with the reaction summary beside it), and then, each message by itself, open and encode.
 */
import { blockABytes, writeBlockA } from '../dist/codec/body.js';
import { openPayload } from '../dist/crypto/payload.js';
import { bucketOf } from '../dist/domain/seq.js';
import { each } from './fill.mjs';

const LOOK_UPS_AT_ONCE = 256;

/** Reads every message of the batches by itself; with `encode` also opens and encodes it. */
export async function naiveLookUps(store, batches, encode) {
  const messages = batches.flat();
  await each(messages.length, LOOK_UPS_AT_ONCE, async (index) => {
    const { conversation, at } = messages[index];
    const { tenantId, conversationId, seqs } = conversation;
    const seq = seqs[at];
    const read = {
      tenantId,
      conversationId,
      bucket: bucketOf(seq),
      statements: [{ shape: 'in', seqs: [seq] }],
    };
    const { records } = await store.readGroup(read);
    if (records.length !== 1) throw new Error('a message is missing from the store');
    if (encode) encodeBody(conversation, records[0]);
  });
  return { messages: messages.length };
}

function encodeBody({ tenantId, conversationId, dek, dekId }, record) {
  const { seq, payload } = record;
  const plaintext = openPayload({ tenantId, conversationId, seq, dek, dekId, envelope: payload });
  const body = Buffer.allocUnsafeSlow(blockABytes(record, true, plaintext.length));
  body.set(plaintext, writeBlockA(body, 0, conversationId, record, true, plaintext.length));
  return body;
}
