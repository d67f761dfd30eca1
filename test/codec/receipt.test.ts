/** The receipt in its three forms: each says the same, fits the room that is kept for it, and can be read by protobufjs. */
import { join } from 'node:path';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import {
  emptyReceipt,
  encodeReceiptField,
  JSON_WORDS,
  MSGPACK_WORDS,
  RECEIPT_COUNTS,
  type Receipt,
  readReceipt,
  receiptBytesMax,
  receiptFields,
  sumReceipts,
} from '../../src/codec/receipt.js';
import { WireReader } from '../../src/codec/wire.js';
import { formatUuid } from '../../src/domain/ids.js';
import { RECEIPT_READS_MAX } from '../../src/domain/limits.js';
import { type PlannedRead, PlanReason } from '../../src/domain/planned-read.js';
import { conversation } from '../stores/fixtures.js';
import { ROOT } from '../tidy/source-scan.js';

const contract = protobuf.loadSync(join(ROOT, 'proto', 'mailjoin.proto'));
const ReceiptType = contract.lookupType('mailjoin.v1.Receipt');

const micros = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const ofBucket = fc.integer({ min: 0, max: 4_096 });
const plannedRead: fc.Arbitrary<PlannedRead> = fc.record({
  conversationId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map(conversation),
  bucket: fc.bigInt({ min: 0n, max: 2n ** 51n - 1n }),
  messages: ofBucket,
  span: ofBucket,
  rangeStatements: ofBucket,
  coveringStatements: ofBucket,
  inStatements: ofBucket,
  reason: fc.constantFrom(...Object.values(PlanReason)),
  costMicros: micros,
  coveringCostMicros: micros,
  inCostMicros: micros,
});
const receipt: fc.Arbitrary<Receipt> = fc
  .tuple(
    fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), {
      minLength: RECEIPT_COUNTS.length,
      maxLength: RECEIPT_COUNTS.length,
    }),
    fc.array(plannedRead, { maxLength: 4 }),
  )
  .map(([counts, reads]) => {
    const made = { ...emptyReceipt(), reads };
    RECEIPT_COUNTS.forEach((name, index) => {
      made[name] = counts[index] as number;
    });
    return made;
  });

/** The field without its tag and length. */
function message(bytes: Uint8Array): Uint8Array {
  const reader = new WireReader(bytes);
  reader.tag();
  return reader.view();
}

describe('the receipt', () => {
  it('comes back whole from its protobuf form, which protobufjs reads alike', () => {
    fc.assert(
      fc.property(receipt, (sent) => {
        const bytes = message(encodeReceiptField(4, sent));
        const back = readReceipt(new WireReader(bytes));
        expect(back).toEqual(sent);
        const named = receiptFields(sent, JSON_WORDS);
        const { reads = [], ...counts } = ReceiptType.toObject(ReceiptType.decode(bytes), {
          longs: Number,
          enums: String,
          bytes: Array,
        });
        const { reads: namedReads = [], ...namedCounts } = named as { reads?: Record<string, unknown>[] };
        expect(snaked(counts)).toEqual(dropZeros(namedCounts));
        expect(
          (reads as Record<string, unknown>[]).map(({ conversationId, ...rest }) =>
            snaked({ ...rest, conversationId: formatUuid(Uint8Array.from(conversationId as number[])) }),
          ),
        ).toEqual(namedReads.map((read) => dropZeros({ ...read, seq_bucket: Number(read.seq_bucket) })));
      }),
    );
  });

  it('fits the room that is kept for it, also when every number is as large as it can be', () => {
    const largest = { ...emptyReceipt() };
    for (const name of RECEIPT_COUNTS) largest[name] = Number.MAX_SAFE_INTEGER;
    const read: PlannedRead = {
      conversationId: conversation(),
      bucket: 2n ** 51n - 1n,
      messages: 4_096,
      span: 4_096,
      rangeStatements: 4_096,
      coveringStatements: 4_096,
      inStatements: 4_096,
      reason: PlanReason.SURPLUS_BOUND,
      costMicros: Number.MAX_SAFE_INTEGER,
      coveringCostMicros: Number.MAX_SAFE_INTEGER,
      inCostMicros: Number.MAX_SAFE_INTEGER,
    };
    for (const entryCount of [1, 10, 64, 4_096]) {
      const reads = new Array(Math.min(RECEIPT_READS_MAX, 2 * entryCount)).fill(read);
      const bytes = encodeReceiptField(4, { ...largest, reads });
      expect(bytes.length).toBeLessThanOrEqual(receiptBytesMax(entryCount));
    }
  });

  it('says the same in MessagePack, with ids as bytes and reasons as numbers', () => {
    const [read] = fc.sample(plannedRead, 1) as [PlannedRead];
    expect(receiptFields({ ...emptyReceipt(), reads: [read] }, MSGPACK_WORDS)).toMatchObject({
      entries: 0,
      reads: [{ conversation_id: read.conversationId, seq_bucket: read.bucket, reason: read.reason }],
    });
  });

  it('skips what a later version adds, and a read without conversation_id', () => {
    const bytes = Buffer.from([0xa2, 0x01, 0x02, 0x18, 0x05, 0xf8, 0x06, 0x07, 0x08, 0x09]);
    expect(readReceipt(new WireReader(bytes))).toEqual({ ...emptyReceipt(), entries: 9 });
  });

  it('of several rounds is their sum', () => {
    const [read] = fc.sample(plannedRead, 1) as [PlannedRead];
    const sum = sumReceipts([
      { ...emptyReceipt(), entries: 2, reads: [read] },
      { ...emptyReceipt(), entries: 3, rows: 7, reads: [read] },
    ]);
    expect(sum).toEqual({ ...emptyReceipt(), entries: 5, rows: 7, reads: [read, read] });
  });
});

function snaked(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = Object.entries(fields).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return dropZeros(Object.fromEntries(named));
}

function dropZeros(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== 0));
}
