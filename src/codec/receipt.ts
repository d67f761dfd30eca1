/** A batch's receipt and its three forms (proto: Receipt): what a join cost, and what its reads were planned as. */
import { conversationIdOf, formatUuid } from '../domain/ids.js';
import { RECEIPT_READS_MAX } from '../domain/limits.js';
import { type PlannedRead, type PlanReason, planReasonName } from '../domain/planned-read.js';
import { bigintOf } from './field-reading.js';
import { encodeFields, type FieldSink } from './field-sink.js';
import { tagOf, WireReader, WireType } from './wire.js';

/** Counts and stage times of one batch. Times are microseconds; stages of concurrent groups overlap. */
export interface ReceiptCounts {
  entries: number;
  messages: number;
  cacheHits: number;
  flightsJoined: number;
  groups: number;
  rangeStatements: number;
  coveringStatements: number;
  inStatements: number;
  summaryStatements: number;
  furtherPages: number;
  rows: number;
  rowBytes: number;
  bodyBytes: number;
  decodeMicros: number;
  planMicros: number;
  readMicros: number;
  keyMicros: number;
  openMicros: number;
  totalMicros: number;
}

export interface Receipt extends ReceiptCounts {
  /** What the batch's own reads were planned as, RECEIPT_READS_MAX at most. */
  readonly reads: PlannedRead[];
}

/** The counts in the order of their field numbers, from 1. */
export const RECEIPT_COUNTS = [
  'entries',
  'messages',
  'cacheHits',
  'flightsJoined',
  'groups',
  'rangeStatements',
  'coveringStatements',
  'inStatements',
  'summaryStatements',
  'furtherPages',
  'rows',
  'rowBytes',
  'bodyBytes',
  'decodeMicros',
  'planMicros',
  'readMicros',
  'keyMicros',
  'openMicros',
  'totalMicros',
] as const satisfies readonly (keyof ReceiptCounts)[];

const READS_FIELD = RECEIPT_COUNTS.length + 1;
const READS_TAG = tagOf(READS_FIELD, WireType.BYTES);

/** A count's tag and value at most, and a planned read: conversation_id, bucket, seven counts of a bucket, three costs. */
const COUNT_BYTES_MAX = 2 + 10;
const READ_BYTES_MAX = 3 + (2 + 16) + (1 + 10) + 6 * (1 + 3) + 3 * (1 + 10);

/** Bytes that a receipt of a batch of so many entries takes at most, its own tag and length included. */
export function receiptBytesMax(entryCount: number): number {
  // A group may be read twice.
  const reads = Math.min(RECEIPT_READS_MAX, 2 * entryCount);
  return 8 + RECEIPT_COUNTS.length * COUNT_BYTES_MAX + reads * READ_BYTES_MAX;
}

export function emptyReceipt(): Receipt {
  return {
    entries: 0,
    messages: 0,
    cacheHits: 0,
    flightsJoined: 0,
    groups: 0,
    rangeStatements: 0,
    coveringStatements: 0,
    inStatements: 0,
    summaryStatements: 0,
    furtherPages: 0,
    rows: 0,
    rowBytes: 0,
    bodyBytes: 0,
    decodeMicros: 0,
    planMicros: 0,
    readMicros: 0,
    keyMicros: 0,
    openMicros: 0,
    totalMicros: 0,
    reads: [],
  };
}

/** Several receipts as one. */
export function sumReceipts(receipts: readonly Receipt[]): Receipt {
  const sum = emptyReceipt();
  for (const receipt of receipts) {
    for (const name of RECEIPT_COUNTS) sum[name] += receipt[name];
    sum.reads.push(...receipt.reads);
  }
  return sum;
}

/** The receipt as a field of a response, tag and length included. */
export function encodeReceiptField(field: number, receipt: Receipt): Uint8Array {
  return encodeFields(receipt, (sink, value) => sink.message(field, value, writeReceipt));
}

/** The fields of Receipt. */
export function writeReceipt(sink: FieldSink, receipt: Receipt): void {
  RECEIPT_COUNTS.forEach((name, index) => {
    writeCount(sink, index + 1, receipt[name]);
  });
  for (const read of receipt.reads) sink.message(READS_FIELD, read, writeRead);
}

function writeRead(sink: FieldSink, read: PlannedRead): void {
  sink.bytes(1, read.conversationId);
  if (read.bucket > 0n) sink.varint(2, read.bucket);
  READ_COUNTS.forEach((name, index) => {
    writeCount(sink, index + 3, read[name]);
  });
}

/** The numbers of a planned read in the order of their field numbers, from 3. */
const READ_COUNTS = [
  'messages',
  'span',
  'rangeStatements',
  'coveringStatements',
  'inStatements',
  'reason',
  'costMicros',
  'coveringCostMicros',
  'inCostMicros',
] as const satisfies readonly (keyof PlannedRead)[];

function writeCount(sink: FieldSink, field: number, count: number): void {
  const value = Math.round(count);
  if (value !== 0) sink.varint(field, value);
}

/** A Receipt: the whole of what is left in the reader. Throws WireError. */
export function readReceipt(reader: WireReader): Receipt {
  const receipt = emptyReceipt();
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const name = (tag & 7) === WireType.VARINT ? RECEIPT_COUNTS[(tag >>> 3) - 1] : undefined;
    if (name !== undefined) receipt[name] = numberOf(reader);
    else if (tag === READS_TAG) receipt.reads.push(...readRead(reader));
    else reader.skip(tag);
  }
  return receipt;
}

/** A planned read; none when it has no conversation_id. */
function readRead(outer: WireReader): PlannedRead[] {
  const reader = new WireReader(outer.view());
  const counts = Object.fromEntries(READ_COUNTS.map((name) => [name, 0])) as Record<
    (typeof READ_COUNTS)[number],
    number
  >; // every name of READ_COUNTS is set
  let conversationId: Uint8Array | undefined;
  let bucket = 0n;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const name = (tag & 7) === WireType.VARINT ? READ_COUNTS[(tag >>> 3) - 3] : undefined;
    if (name !== undefined) counts[name] = numberOf(reader);
    else if (tag === tagOf(1, WireType.BYTES)) conversationId = reader.view();
    else if (tag === tagOf(2, WireType.VARINT)) bucket = bigintOf(reader, tag);
    else reader.skip(tag);
  }
  const id = conversationId && conversationIdOf(conversationId);
  // A reason that this version does not know keeps its number; planReasonName says UNSPECIFIED.
  return id === undefined
    ? []
    : [{ ...counts, reason: counts.reason as PlanReason, conversationId: id, bucket }];
}

function numberOf(reader: WireReader): number {
  reader.uint64();
  return reader.hi * 2 ** 32 + reader.lo;
}

/** A receipt by the names of its proto fields; ids and reasons as `words` writes them. */
export function receiptFields(receipt: Receipt, words: ReceiptWords): Record<string, unknown> {
  const { reads, ...counts } = receipt;
  const planned = reads.map(({ conversationId, bucket, reason, ...numbers }) => ({
    conversation_id: words.uuid(conversationId),
    seq_bucket: words.uint64(bucket),
    reason: words.reason(reason),
    ...snakeFields(numbers),
  }));
  return { ...snakeFields(counts), ...(planned.length === 0 ? {} : { reads: planned }) };
}

/** How a media type writes what is no small number. */
export interface ReceiptWords {
  uuid(id: Uint8Array): unknown;
  uint64(value: bigint): unknown;
  reason(reason: PlanReason): unknown;
}

export const JSON_WORDS: ReceiptWords = { uuid: formatUuid, uint64: String, reason: planReasonName };
export const MSGPACK_WORDS: ReceiptWords = {
  uuid: (id) => id,
  uint64: (value) => value,
  reason: (reason) => reason,
};

function snakeFields(counts: Readonly<Record<string, number>>): Record<string, number> {
  const named: Record<string, number> = {};
  for (const [name, value] of Object.entries(counts)) {
    const snake = name.replace(/Micros$/, 'Us').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    named[snake] = Math.round(value);
  }
  return named;
}
