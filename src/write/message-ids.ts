/**
 * Message and activity ids (R1): 16 bytes, big-endian, so that byte order is numeric order.
 *
 *     id:  milliseconds since 1970, 48 bits | counter 16 | check of the conversation 32 | random 32
 *          \_____________ prefix, 64 bits _____________/
 *
 * Prefixes of one generator rise strictly, whatever the clock does: a clock set back continues from the last prefix.
 * The check lets a retry that names another conversation be told from the stored id alone (client_dedup has no column
 * for the conversation). An id's write timestamp (D14) follows from its prefix, so that whoever repeats a write, also
 * another process after a crash, repeats it at the same timestamp. Owned by one thread; fails with STORE_CORRUPT only
 * where a stored revision leaves no room above it.
 */
import { createHash, randomFillSync } from 'node:crypto';
import { MailjoinError } from '../domain/errors.js';
import { type ActivityId, type ConversationId, ID_BYTES, type MessageId } from '../domain/ids.js';
import type { Clock } from '../domain/ports.js';

const COUNTER_BITS = 16n;
const COUNTER_MAX = 0xffffn;
const PREFIX_END = 1n << 64n;
/** A fresh millisecond's counter starts in the lower half: half of the ids are left, and processes rarely meet. */
const COUNTER_START_MASK = 0x7fff;
const CHECK_AT = 8;
const RANDOM_AT = 12;
const CHECK_LABEL = 'mailjoin.message-id.v1';
/** The least step of a counter that changes the microsecond: ceil(65536 / 1000). */
export const COUNTER_PER_MICRO = 66n;

/**
 * Events of one conversation from one process lie so far apart at least: two that meet in a row are two timestamps to the
 * store, and a hold that is written just above the one is still below the other.
 */
export const EVENT_STEP = 8n * COUNTER_PER_MICRO;

/** The first 64 bits of an id: what orders ids. */
export type IdPrefix = bigint;

/** What a row tells about the writes it has had. */
export interface FormerRevision {
  readonly createdAtMs: bigint;
  readonly lastActivityId: ActivityId | undefined;
}

export class IdGenerator {
  readonly #clock: Pick<Clock, 'epochMs'>;
  #last: IdPrefix = 0n;

  constructor(clock: Pick<Clock, 'epochMs'>) {
    this.#clock = clock;
  }

  /** The next prefix: above all former ones that followed this generator's clock, and above `above`. */
  nextPrefix(above: IdPrefix = 0n): IdPrefix {
    const nowMs = BigInt(Math.floor(this.#clock.epochMs()));
    const fresh = (nowMs << COUNTER_BITS) | BigInt(randomCounterStart());
    this.#last = nowMs > this.#last >> COUNTER_BITS ? fresh : this.#last + 1n;
    // What lies above one conversation's former ids does not drag the other conversations' ids along.
    return checkedPrefix(this.#last > above ? this.#last : above + 1n);
  }

  /** Prefixes from now on lie above this one, too. */
  raise(prefix: IdPrefix): void {
    if (prefix > this.#last) this.#last = prefix;
  }
}

/** The id of a prefix in a conversation; check from conversationCheck. */
export function idOf(prefix: IdPrefix, check: number): Uint8Array {
  const id = Buffer.alloc(ID_BYTES);
  id.writeBigUInt64BE(prefix);
  id.writeUInt32BE(check, CHECK_AT);
  randomFillSync(id, RANDOM_AT);
  return id;
}

export function prefixOf(id: Uint8Array): IdPrefix {
  return viewOf(id).getBigUint64(0);
}

/** The highest prefix of a millisecond: what is above it is later by a millisecond at least. */
export function endOfMs(ms: bigint): IdPrefix {
  return (ms << COUNTER_BITS) | COUNTER_MAX;
}

/**
 * A prefix in the millisecond behind this one, its counter drawn: two processes that begin there, whose clocks are behind
 * it, rarely meet in one microsecond.
 */
export function drawnBehindMs(ms: bigint): IdPrefix {
  return endOfMs(ms) + 1n + BigInt(randomCounterStart());
}

/** 32 bits that an id carries of its conversation. */
export function conversationCheck(conversationId: ConversationId): number {
  return createHash('sha256').update(CHECK_LABEL).update(conversationId).digest().readUInt32BE(0);
}

/** Whether an id was given out in this conversation. */
export function isOfConversation(messageId: MessageId, conversationId: ConversationId): boolean {
  return viewOf(messageId).getUint32(CHECK_AT) === conversationCheck(conversationId);
}

/** The timestamp in microseconds of the write that sets a revision (D14): rises with the revision. */
export function revisionMicros(revision: ActivityId): bigint {
  const prefix = prefixOf(revision);
  const counter = prefix & COUNTER_MAX;
  return (prefix >> COUNTER_BITS) * 1000n + ((counter * 1000n) >> COUNTER_BITS);
}

/** The timestamp in microseconds of a row's INSERT (D14). */
export function insertMicros(createdAtMs: bigint): bigint {
  return createdAtMs * 1000n;
}

/**
 * The prefix of an event's revision: `wanted`, unless that is not at least a millisecond later than the row's former
 * revision and its created_at. So the event's write has a timestamp above all that the row has had (D14). Where it is
 * raised its counter is drawn, so that two processes which raise above the same row rarely meet in one microsecond.
 */
export function eventPrefix(wanted: IdPrefix, { createdAtMs, lastActivityId }: FormerRevision): IdPrefix {
  const created = endOfMs(createdAtMs);
  const former = lastActivityId === undefined ? 0n : prefixOf(lastActivityId) | COUNTER_MAX;
  const floor = former > created ? former : created;
  return checkedPrefix(wanted > floor ? wanted : floor + 1n + BigInt(randomCounterStart()));
}

/** An event's revision as it was assigned, or the least one above the row's where the row's is above it by now. */
export function revisionAbove(former: FormerRevision, assigned: ActivityId): ActivityId {
  const prefix = eventPrefix(prefixOf(assigned), former);
  if (prefix === prefixOf(assigned)) return assigned;
  // Fresh bytes of an id's length.
  return idOf(prefix, viewOf(assigned).getUint32(CHECK_AT)) as ActivityId;
}

/**
 * The least prefix whose timestamp lies above the row's former ones. A hold writes the row as it was read at this
 * revision: above what it read, and below every event that somebody else is writing meanwhile (D20, D14).
 */
export function justAbove({ createdAtMs, lastActivityId }: FormerRevision): IdPrefix {
  const created = createdAtMs << COUNTER_BITS;
  const former = lastActivityId === undefined ? 0n : prefixOf(lastActivityId);
  return checkedPrefix((former > created ? former : created) + COUNTER_PER_MICRO);
}

function checkedPrefix(prefix: IdPrefix): IdPrefix {
  if (prefix >= PREFIX_END) throw new MailjoinError('STORE_CORRUPT', 'a revision leaves no room above it');
  return prefix;
}

const counterStart = new Uint16Array(1);
function randomCounterStart(): number {
  randomFillSync(counterStart);
  return (counterStart[0] as number) & COUNTER_START_MASK;
}

function viewOf(id: Uint8Array): DataView {
  return new DataView(id.buffer, id.byteOffset, id.byteLength);
}
