/**
 * Fetches the flights of one (conversation, bucket): read, resolve keys, build, open, publish, settle.
 *
 * At most FLIGHT_ATTEMPTS_MAX reads in all, whoever waits (B52): a failed read is repeated once, and so is a read for
 * those flights whose row was below a floor, or whose key changed under way; what is still below its floor then is
 * NOT_YET, what failed is UNAVAILABLE. What lies beyond the bytes of a read (GROUP_READ_BYTES_MAX) is DEFERRED: asked for
 * again, it is the first. Nothing here rejects, except for bugs (asserts), which land every flight first.
 */
import type { Receipt } from '../codec/receipt.js';
import { MailjoinError } from '../domain/errors.js';
import { isBelow } from '../domain/floor.js';
import type { ActivityId } from '../domain/ids.js';
import { FLIGHT_ATTEMPTS_MAX, GROUP_READ_BYTES_MAX, RECEIPT_READS_MAX } from '../domain/limits.js';
import { type DekId, dekKey, type MessageRecord, type ReactionSummary } from '../domain/message.js';
import { OpenOutcome } from '../domain/open-job.js';
import {
  type BodyCache,
  type Clock,
  type Floor,
  type GroupRead,
  type GroupRows,
  type Keyring,
  type MessageReader,
  type PayloadOpener,
  PublishOutcome,
  type Unwrapped,
} from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import { asksFor } from '../domain/statement.js';
import { type Draft, draftBody, judge, openJobOf } from './body-build.js';
import type { Flight, Flights, Waiter } from './flights.js';
import type { Freshness } from './freshness.js';
import { explainPlan } from './plan-explanation.js';
import type { ReadCostModel } from './read-cost-model.js';
import type { ReadGate, Turn } from './read-gate.js';
import { planStatements } from './statement-plan.js';

/** What a fetch needs from outside; one for the process. */
export interface FetchContext {
  readonly store: MessageReader;
  readonly cache: BodyCache;
  readonly keyring: Keyring;
  readonly opener: PayloadOpener;
  readonly clock: Clock;
  readonly costs: ReadCostModel;
  readonly flights: Flights;
  readonly gate: ReadGate;
  /** Whether rows without dek_id are served (D22). */
  readonly allowUnsealed: boolean;
  /** How long a body may be cached whatever its TTL. */
  readonly freshness: Freshness;
  /** Told of every failure beneath a batch: for logs and metrics. */
  readonly onFailure: (code: string, error: unknown) => void;
}

/** The flights of one partition visit; `receipt` is that of the batch that started them. */
export interface Group {
  readonly flights: Flight[];
  readonly receipt: Receipt;
  /** Whether that receipt was asked for, and so says why each read was planned as it was. */
  readonly wantReceipt: boolean;
  readonly bucket: bigint;
  /** Urgent when live delivery waits: it goes before backlogs (limits.GROUP_READS_PUSH_RESERVE). */
  readonly turn: Turn;
}

/**
 * Fetches a group; every flight has landed and every waiter is settled when it resolves. `given`: rows that need no
 * read, from the log; what they leave open is read from the store only where somebody waits for it by then.
 */
export async function fetchGroup(context: FetchContext, group: Group, given?: GroupRows): Promise<void> {
  let open: readonly Flight[] = group.flights;
  let bug: unknown;
  try {
    if (given !== undefined) open = awaited(context, await settleRows(context, group, open, given));
    let isFailed = false;
    for (let attempt = 1; attempt <= FLIGHT_ATTEMPTS_MAX && open.length > 0; attempt++) {
      if (attempt === FLIGHT_ATTEMPTS_MAX) for (const flight of open) flight.isLastRead = true;
      const rows = await readRows(context, group, open, isFailed);
      if (rows !== undefined && rows !== NOT_TO_BE_REPEATED) {
        open = await settleRows(context, group, open, rows);
        continue;
      }
      isFailed = true;
      for (const flight of open) flight.unmet = ResultCode.UNAVAILABLE;
      if (rows === NOT_TO_BE_REPEATED) break;
    }
  } catch (error) {
    for (const flight of open) flight.unmet = ResultCode.UNAVAILABLE;
    bug = error;
  }
  for (const flight of open) settleAll(context, flight, flight.unmet);
  if (bug !== undefined) context.onFailure(codeOf(bug), bug);
}

/** What a failed read answers when the same read can only fail again: refused, or rows that break an invariant. */
const NOT_TO_BE_REPEATED = 'not to be repeated';

/** Lands the flights that nobody waits for; returns the others. */
function awaited(context: FetchContext, flights: readonly Flight[]): Flight[] {
  return flights.filter((flight) => {
    if (flight.waiters.length === 0) context.flights.land(flight);
    return flight.waiters.length > 0;
  });
}

async function readRows(
  context: FetchContext,
  group: Group,
  flights: readonly Flight[],
  isRepeated: boolean,
): Promise<GroupRows | typeof NOT_TO_BE_REPEATED | undefined> {
  const { receipt } = group;
  const read = groupRead(context, group, flights, isRepeated);
  const startedMs = context.clock.nowMs();
  try {
    const rows = await context.gate.run({
      turn: group.turn,
      isWanted: () => flights.some(isAwaited),
      send: () => context.store.readGroup(read),
    });
    if (rows === undefined) return undefined;
    receipt.furtherPages += rows.cost.furtherPages;
    receipt.rows += rows.cost.rows;
    receipt.rowBytes += rows.cost.bytes;
    return rows;
  } catch (error) {
    context.onFailure(codeOf(error), error);
    return error instanceof MailjoinError && !error.retryable ? NOT_TO_BE_REPEATED : undefined;
  } finally {
    receipt.readMicros += (context.clock.nowMs() - startedMs) * 1000;
    receipt.summaryStatements += read.statements.length;
    for (const { shape } of read.statements) {
      if (shape === 'range') receipt.rangeStatements++;
      else if (shape === 'covering') receipt.coveringStatements++;
      else receipt.inStatements++;
    }
  }
}

function codeOf(error: unknown, otherwise = 'INTERNAL'): string {
  return error instanceof MailjoinError ? error.code : otherwise;
}

/** Whether anybody still waits for a flight. */
function isAwaited({ waiters }: Flight): boolean {
  return waiters.some(({ batch }) => batch !== undefined);
}

function groupRead(
  context: FetchContext,
  group: Group,
  flights: readonly Flight[],
  isRepeated: boolean,
): GroupRead {
  const first = flights[0] as Flight;
  const seqs = flights.map((flight) => flight.seq);
  if (!isRising(seqs)) seqs.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const wanted = isRising(seqs) ? seqs : [...new Set(seqs)];
  const read: GroupRead = {
    tenantId: first.tenantId,
    conversationId: first.conversationId,
    bucket: group.bucket,
    statements: planStatements(wanted, context.costs),
    bytesMax: GROUP_READ_BYTES_MAX,
    isRepeated,
  };
  if (group.wantReceipt && group.receipt.reads.length < RECEIPT_READS_MAX) {
    group.receipt.reads.push(explainPlan(read, wanted, context.costs));
  }
  return read;
}

/** Whether each is above the one before: sorted and distinct, as batches mostly are. */
function isRising(seqs: readonly bigint[]): boolean {
  for (let index = 1; index < seqs.length; index++) {
    if ((seqs[index] as bigint) <= (seqs[index - 1] as bigint)) return false;
  }
  return true;
}

/** Settles what the rows settle; returns the flights that need another read. */
async function settleRows(
  context: FetchContext,
  group: Group,
  flights: readonly Flight[],
  rows: GroupRows,
): Promise<Flight[]> {
  const records = new Map<bigint, MessageRecord>();
  for (const record of rows.records) records.set(record.seq, record);
  const summaries = new Map<bigint, ReactionSummary>();
  for (const summary of rows.summaries) summaries.set(summary.seq, summary);
  const keysStartedMs = context.clock.nowMs();
  const keys = await resolveKeys(context, flights, records);
  group.receipt.keyMicros += (context.clock.nowMs() - keysStartedMs) * 1000;
  const again: Flight[] = [];
  const drafts: Draft[] = [];
  const unread: Flight[] = [];
  try {
    const nowMs = context.clock.nowMs();
    for (const flight of flights) {
      const record = records.get(flight.seq);
      if (record === undefined && isUnread(rows, flight)) {
        unread.push(flight);
        continue;
      }
      const summary = summaries.get(flight.seq);
      const key = record?.dekId === undefined ? undefined : keys.get(dekKey(record.dekId));
      const code = judge(flight, record, key, context.allowUnsealed);
      if (record === undefined || (code !== ResultCode.OK && code !== ResultCode.RECALLED)) {
        settleAll(context, flight, code);
      } else if (isBelowFloor(context, flight, record.lastActivityId, summary?.version ?? 0n, code)) {
        flight.unmet = ResultCode.NOT_YET;
        again.push(flight);
      } else {
        drafts.push(draftBody(context.cache, flight, record, summary, code, nowMs));
      }
    }
    const outcomes = await openDrafts(context, group, drafts, keys);
    for (let index = 0; index < drafts.length; index++) {
      const draft = drafts[index] as Draft;
      if (!settleDraft(context, draft, outcomes[index] as ResultCode, rows.sentAtMs))
        again.push(draft.flight);
    }
    for (const flight of unread) {
      // A batch that joined another one's read and has no body of it yet gets its first one.
      if (!flight.isLastRead && flight.waiters.some(({ batch }) => batch?.bodies.count === 0)) {
        flight.unmet = ResultCode.DEFERRED;
        again.push(flight);
      } else settleAll(context, flight, ResultCode.DEFERRED);
    }
  } finally {
    for (const draft of drafts) draft.giveUp(context.cache);
    for (const key of keys.values()) if (key.status === 'ok') key.key.fill(0);
  }
  return again;
}

/** Whether a read ended before it came to this flight's row. */
function isUnread({ unread }: GroupRows, { seq }: Flight): boolean {
  return unread?.some((statement) => asksFor(statement, seq)) ?? false;
}

/** The DEKs of the rows that flights asked for, each once; cached ones without waiting. */
async function resolveKeys(
  context: FetchContext,
  flights: readonly Flight[],
  records: ReadonlyMap<bigint, MessageRecord>,
): Promise<Map<string, Unwrapped>> {
  const keys = new Map<string, Unwrapped>();
  const missing = new Map<string, DekId>();
  for (const flight of flights) {
    const dekId = records.get(flight.seq)?.dekId;
    if (dekId === undefined) continue;
    const name = dekKey(dekId);
    if (keys.has(name) || missing.has(name)) continue;
    const cached = context.keyring.peek(dekId);
    if (cached === undefined) missing.set(name, dekId);
    else keys.set(name, cached);
  }
  if (missing.size === 0) return keys;
  const answers = await context.keyring.resolve([...missing.values()]);
  let index = 0;
  for (const name of missing.keys()) {
    const answer = answers[index++] as Unwrapped;
    keys.set(name, answer);
    if (answer.status === 'failed') context.onFailure(codeOf(answer.cause, 'KEY_UNAVAILABLE'), answer.cause);
  }
  return keys;
}

/**
 * Whether a row lies below a log event's floor (D14), and so must be neither cached nor served: the floor installed now,
 * or one of an event that came while the flight was under way.
 */
function isBelowFloor(
  { cache }: FetchContext,
  flight: Flight,
  revision: ActivityId | undefined,
  summaryVersion: bigint,
  code: ResultCode,
): boolean {
  return (
    liesBelow(cache.floorOf(flight.tenantId, flight.messageId), revision, summaryVersion, code) ||
    liesBelow(flight.floor, revision, summaryVersion, code)
  );
}

function liesBelow(
  floor: Floor | undefined,
  revision: ActivityId | undefined,
  summaryVersion: bigint,
  code: ResultCode,
): boolean {
  return floor !== undefined && isBelow(floor, revision, 0, summaryVersion, code);
}

/** Opens what is sealed, in place; one result per draft: its own code, TAMPERED or UNAVAILABLE. */
async function openDrafts(
  context: FetchContext,
  group: Group,
  drafts: readonly Draft[],
  keys: ReadonlyMap<string, Unwrapped>,
): Promise<ResultCode[]> {
  const results = drafts.map((draft) => draft.code as ResultCode);
  const sealedIndexes = drafts.flatMap((draft, index) => (draft.sealed === undefined ? [] : [index]));
  if (sealedIndexes.length === 0) return results;
  const startedMs = context.clock.nowMs();
  try {
    const sealedDrafts = sealedIndexes.map((index) => drafts[index] as Draft);
    const outcomes = await context.opener.open(openJobOf(sealedDrafts, keys));
    for (let position = 0; position < sealedIndexes.length; position++) {
      if (outcomes[position] !== OpenOutcome.OPENED) {
        results[sealedIndexes[position] as number] = ResultCode.TAMPERED;
      }
    }
  } catch (error) {
    context.onFailure(codeOf(error), error);
    for (const index of sealedIndexes) results[index] = ResultCode.UNAVAILABLE;
  } finally {
    group.receipt.openMicros += (context.clock.nowMs() - startedMs) * 1000;
  }
  return results;
}

/**
 * Publishes a draft and serves it to who waits, in one tick. False when its flight needs another read: a waiter's or
 * an event's floor is higher, or its key changed under way.
 */
function settleDraft(context: FetchContext, draft: Draft, result: ResultCode, sentAtMs: number): boolean {
  const { cache } = context;
  const { flight, identity } = draft;
  if (result !== ResultCode.OK && result !== ResultCode.RECALLED) {
    settleAll(context, flight, result);
    return true;
  }
  if (identity.dekId !== undefined && context.keyring.isDestroyed(identity.dekId)) {
    settleAll(context, flight, ResultCode.ERASED);
    return true;
  }
  flight.unmet = ResultCode.NOT_YET;
  if (isBelowFloor(context, flight, identity.revision, identity.summaryVersion, result)) return false;
  if (!flight.detached) {
    const expiresAtMs = sentAtMs + draft.lifeMs(context.freshness.ageMsMax(sentAtMs));
    if (draft.publish(cache, expiresAtMs, context.clock.nowMs()) === PublishOutcome.KEY_CHANGED) {
      flight.unmet = ResultCode.UNAVAILABLE;
      return false;
    }
  }
  if (!serve(flight, draft)) return false;
  context.flights.land(flight);
  return true;
}

/** Serves a body to who waits; false when some still wait, because their floor is higher. */
function serve(flight: Flight, draft: Draft): boolean {
  const { waiters } = flight;
  let left = 0;
  for (let index = 0; index < waiters.length; index++) {
    const waiter = waiters[index] as Waiter;
    if (waiter.batch?.settleBody(waiter.first, draft) === false) waiters[left++] = waiter;
  }
  waiters.length = left;
  return left === 0;
}

function settleAll(context: FetchContext, flight: Flight, code: ResultCode): void {
  for (const { batch, first } of flight.waiters) batch?.settle(first, code);
  flight.waiters = [];
  context.flights.land(flight);
}
