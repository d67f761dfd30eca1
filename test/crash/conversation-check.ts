/**
 * What must be true of a conversation after crashes, retries and recovery (S-7, D16, D17): read from store and log, and
 * held against the ledger of what was acknowledged.
 */
import { expect } from 'vitest';
import type { LogEdit, LogMessage, LogRecall, LogRecord } from '../../src/codec/log-record.js';
import { DekCache } from '../../src/crypto/dek-cache.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { openPayload } from '../../src/crypto/payload.js';
import { effectiveState, type MessageRecord, MessageState } from '../../src/domain/message.js';
import { clock } from '../cql/cassandra-under-test.js';
import { plain } from '../stores/fixtures.js';
import { hex, logged } from '../write/write-fixtures.js';
import type { Ledger } from './ledger.js';

/** A conversation as store and log have it. */
export interface Seen {
  readonly rows: ReadonlyMap<string, MessageRecord>;
  readonly messages: readonly LogMessage[];
  readonly recalls: readonly LogRecall[];
  readonly edits: readonly LogEdit[];
}

/** Reads it whole; a row of no client_message_id, or of one that has another row, is a broken promise already. */
export async function see(ledger: Ledger): Promise<Seen> {
  const { place, tenantId, conversationId, processes } = ledger;
  const rows = new Map<string, MessageRecord>();
  for (let bucket = 0n; bucket <= 2n * BigInt(processes); bucket++) {
    for (const row of await place.writes.readBucket(tenantId, conversationId, bucket)) {
      const name = row.clientMessageId ?? '';
      expect(rows.has(name), `the one row of ${name}`).toBe(false);
      expect([...ledger.texts.keys()]).toContain(name);
      rows.set(name, row);
    }
  }
  const records = (await logged(place.log)).filter((record) => isOf(record, ledger));
  return {
    rows,
    messages: records.filter((record) => record.kind === 'message'),
    recalls: records.filter((record) => record.kind === 'recall'),
    edits: records.filter((record) => record.kind === 'edit'),
  };
}

function isOf(record: LogRecord, { conversationId }: Ledger): boolean {
  return record.kind !== 'keyDestroyed' && Buffer.compare(record.conversationId, conversationId) === 0;
}

/** Every acknowledged message has one row, one id in the log, and one acknowledgement. */
export function checkMessages(ledger: Ledger, seen: Seen): void {
  for (const [name, acks] of ledger.acks) {
    expect([...acks], `one acknowledgement of ${name}`).toHaveLength(1);
    const row = seen.rows.get(name);
    expect([`${row?.seq} ${hex(row?.messageId)} ${row?.createdAtMs}`], `the row of ${name}`).toEqual([
      ...acks,
    ]);
    expect(idsInLog(seen, name), `what readers of the log know ${name} by`).toEqual([hex(row?.messageId)]);
  }
}

/** What readers that drop duplicates by message_id are left with (D16). */
function idsInLog({ messages }: Seen, name: string): string[] {
  const ofName = messages.filter(({ record }) => record.clientMessageId === name);
  return [...new Set(ofName.map(({ record }) => hex(record.messageId) ?? ''))];
}

/** No seq was given to two things: messages, and events told apart by their ids. */
export function checkSeqs({ messages, recalls, edits }: Seen): void {
  const owners = new Map<bigint, string>();
  const claim = (seq: bigint, owner: string): void => {
    expect(owners.get(seq) ?? owner, `the one owner of seq ${seq}`).toBe(owner);
    owners.set(seq, owner);
  };
  for (const { record } of messages) claim(record.seq, `message ${hex(record.messageId)}`);
  for (const event of [...recalls, ...edits]) claim(event.seq, `${event.kind} ${event.eventId}`);
}

/** S-7 of recalls: none that was acknowledged is missing in the log, none that is in the log is not in its row. */
export function checkRecalls(ledger: Ledger, seen: Seen): void {
  const inLog = new Set(seen.recalls.map(({ seq }) => seq));
  const lost = ledger.events.filter(({ kind, eventSeq }) => kind === 'recall' && !inLog.has(eventSeq));
  expect(lost, 'recall events lost').toEqual([]);
  for (const event of seen.recalls) {
    const row = rowOf(seen, event);
    expect(row && effectiveState(row), 'the state of a recalled message').toBe(MessageState.RECALLED);
    expect(inLog).toContain(row?.recallEventSeq);
    expectAtOrAbove(row, event);
  }
  const recalled = new Set(seen.recalls.map(({ target }) => target.seq));
  for (const [name, { seq, recallEventSeq }] of seen.rows) {
    expect(recallEventSeq !== undefined, `${name} is recalled only by an event`).toBe(recalled.has(seq));
  }
}

/** The same of edits: the highest one in the log is what its row shows, unless the message was recalled. */
export async function checkEdits(ledger: Ledger, seen: Seen): Promise<void> {
  const inLog = new Set(seen.edits.map(({ seq }) => seq));
  const acked = ledger.events.filter(({ kind }) => kind === 'edit');
  expect(
    acked.filter(({ eventSeq }) => !inLog.has(eventSeq)),
    'edit events lost',
  ).toEqual([]);
  for (const event of seen.edits) expectAtOrAbove(rowOf(seen, event), event);
  for (const [name, row] of seen.rows) {
    if (effectiveState(row) === MessageState.RECALLED) continue;
    const edits = seen.edits.filter(({ target }) => target.seq === row.seq);
    const last = edits.sort((a, b) => Buffer.compare(a.lastActivityId, b.lastActivityId)).at(-1);
    expect(hex(row.editedAtActivityId), `the last edit of ${name}`).toBe(hex(last?.lastActivityId));
    if (last !== undefined) expect(hex(row.payload)).toBe(hex(last.payload));
    const told = acked.find(({ eventSeq }) => eventSeq === last?.seq)?.text;
    const text = last === undefined ? ledger.texts.get(name) : told;
    if (text !== undefined) expect(await textOf(ledger, row)).toBe(text);
  }
}

/** A sidecar that has read the event serves nothing below it: so the row must have come up to it. */
function expectAtOrAbove(row: MessageRecord | undefined, event: LogRecall | LogEdit): void {
  const [own = '', floor = ''] = [hex(row?.lastActivityId), hex(event.lastActivityId)];
  expect([own, floor].sort()[0], `${row?.clientMessageId} at or above its ${event.kind}`).toBe(floor);
}

function rowOf({ rows }: Seen, { target }: LogRecall | LogEdit): MessageRecord | undefined {
  return [...rows.values()].find(({ seq }) => seq === target.seq);
}

async function textOf({ place, tenantId, conversationId }: Ledger, row: MessageRecord): Promise<string> {
  const { dekId, payload, seq } = row;
  if (dekId === undefined || payload === undefined) throw new Error('no sealed payload');
  const keyring = new DekCache({ provider: new LocalKeyProvider(place.keys, place.kek), clock });
  try {
    const [answer] = await keyring.resolve([dekId]);
    if (answer?.status !== 'ok') throw new Error('no key');
    const where = { tenantId, conversationId, seq };
    const opened = openPayload({ ...where, dek: answer.key, dekId, envelope: payload });
    if (opened === undefined) throw new Error('does not open');
    return new TextDecoder().decode(opened);
  } finally {
    keyring.close();
  }
}

/** The head shows nothing of a recalled message (D12). */
export async function checkHead({ place, tenantId, conversationId }: Ledger, seen: Seen): Promise<void> {
  const head = await place.writes.readHead(tenantId, conversationId);
  const last = [...seen.rows.values()].find(({ messageId }) => hex(messageId) === hex(head?.lastMessageId));
  if (last === undefined || effectiveState(last) !== MessageState.RECALLED) return;
  expect(head?.preview, 'the preview of a recalled message').toBeUndefined();
}

/**
 * Rows in a form that shows every change but the passing of time. A payload is shown opened: a commit that was repeated
 * after a crash may have sealed it anew, and which of the two the store keeps is the store's affair.
 */
export async function rowsOf(ledger: Ledger, { rows }: Seen): Promise<ReadonlyMap<string, unknown>> {
  const shown = [...rows].map(async ([name, row]) => {
    const text = await textOf(ledger, row);
    return [name, plain({ ...row, payload: new TextEncoder().encode(text) })] as const;
  });
  return new Map(await Promise.all(shown));
}

/** All that an archiver brings about. The head of a message whose recall was only logged is recovery's to write (D17). */
export async function checkRows(ledger: Ledger): Promise<Seen> {
  const seen = await see(ledger);
  checkMessages(ledger, seen);
  checkSeqs(seen);
  checkRecalls(ledger, seen);
  await checkEdits(ledger, seen);
  return seen;
}

/** All that is true after recovery. */
export async function checkAll(ledger: Ledger): Promise<Seen> {
  const seen = await checkRows(ledger);
  await checkHead(ledger, seen);
  return seen;
}
