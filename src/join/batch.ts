/**
 * One batch while it is being joined: which entries name the same message, which are settled, and the response's bodies.
 *
 * Entries that name the same message form a chain; the chain's first entry stands for all of them, so each message is
 * looked up, fetched and copied once however often it is referenced (R4.3 step 5). An entry is settled exactly once;
 * when the last one is, `done` resolves. After the deadline the batch is closed: what arrives later is ignored.
 */
import { strict as assert } from 'node:assert';
import { BodyList, NO_ROOM } from '../codec/body-list.js';
import type { JoinOutcome } from '../codec/join-outcome.js';
import type { JoinRequest } from '../codec/join-request.js';
import { responseTailBytes } from '../codec/join-response.js';
import { emptyReceipt, type Receipt } from '../codec/receipt.js';
import { ABSENT, type EntryColumns } from '../domain/entries.js';
import { equalIdAt, ID_BYTES } from '../domain/ids.js';
import type { DekId } from '../domain/message.js';
import type { MessageAt } from '../domain/ports.js';
import { ResultCode } from '../domain/result.js';
import type { Waiter } from './flights.js';

interface Scratch {
  readonly firsts: Int32Array;
  readonly last: Int32Array;
  readonly hashes: Int32Array;
  readonly table: Int32Array;
}

/** Planning is synchronous, so all batches of a size class share its arrays; there are few classes. */
const scratches: (Scratch | undefined)[] = [];

function scratchFor(entryCount: number): Scratch {
  const sizeClass = 32 - Math.clz32(Math.max(3, entryCount - 1));
  let scratch = scratches[sizeClass];
  if (scratch === undefined) {
    const size = 1 << sizeClass;
    const column = () => new Int32Array(size);
    scratch = { firsts: column(), last: column(), hashes: column(), table: new Int32Array(size * 2) };
    scratches[sizeClass] = scratch;
  } else scratch.table.fill(0);
  return scratch;
}

/** The chains of a batch: valid in this tick only. */
export interface Chains {
  /** The first entry of each chain, in the order of the request: the first `count` elements. */
  readonly firsts: Int32Array;
  readonly count: number;
  /** By first entry: the cache's hash of (tenant, message_id). */
  readonly hashes: Int32Array;
}

/** Bytes that a body is expected to have, for the first allocation only. */
const BODY_BYTES_EXPECTED = 640;
const FIRST_ALLOCATION_BYTES_MAX = 1024 * 1024;
const END = -1;

/** A body where it lies right now; valid in this tick only. */
export interface BodySource {
  /** ResultCode.OK or ResultCode.RECALLED. */
  readonly code: number;
  readonly bodyBytes: number;
  /** True when it is at or above a floor; floorAt ABSENT = no revision floor. */
  meetsFloor(floorBytes: Uint8Array, floorAt: number, summaryVersion: bigint): boolean;
  copyTo(target: Uint8Array, at: number): void;
  /** What sealed it: undefined where nothing did, 'cached' where only the cache knows. */
  readonly dekId: DekId | 'cached' | undefined;
}

export class Batch {
  readonly request: JoinRequest;
  readonly entries: EntryColumns;
  readonly bodies: BodyList;
  readonly receipt: Receipt = emptyReceipt();
  readonly done: Promise<void>;
  /** Cursor over `entries`, reused for every lookup. */
  readonly cursor: MessageAt;
  private pending = 0;
  private resolveDone!: () => void;
  /** The next entry that names the same message, or END. */
  private readonly next: Int32Array;
  private closed = false;
  private readonly waiters: Waiter[] = [];
  /** By a body's position: what sealed it. */
  private readonly sealedBy: BodySource['dekId'][] = [];

  /** `mayHold`: asked before the response takes that many bytes of memory. */
  constructor(request: JoinRequest, mayHold?: (bytes: number) => boolean) {
    this.request = request;
    this.entries = request.entries;
    const { bytes, count } = request.entries;
    const expected = Math.min(
      count * BODY_BYTES_EXPECTED,
      request.responseBytesMax,
      FIRST_ALLOCATION_BYTES_MAX,
    );
    this.bodies = new BodyList(expected, responseTailBytes(count, request.wantReceipt), mayHold);
    this.next = new Int32Array(count).fill(END);
    this.cursor = { tenantId: request.tenantId, bytes, conversationAt: 0, messageAt: 0, seqHi: 0, seqLo: 0 };
    this.done = new Promise((resolve) => {
      this.resolveDone = resolve;
    });
  }

  /** Chains the entries that are to be joined. `hash`: the cache's hash of (tenant, message_id). */
  distinct(hash: (at: MessageAt) => number): Chains {
    const { entries, next } = this;
    const { firsts, last, hashes, table } = scratchFor(entries.count);
    const tableSize = table.length;
    let count = 0;
    for (let index = 0; index < entries.count; index++) {
      if (entries.code[index] !== ResultCode.PENDING) continue;
      this.pending++;
      const value = hash(this.point(index));
      let place = this.spread(value, index) & (tableSize - 1);
      let first = (table[place] as number) - 1;
      while (first >= 0 && !(hashes[first] === value && this.sameMessage(first, index))) {
        place = (place + 1) & (tableSize - 1);
        first = (table[place] as number) - 1;
      }
      if (first >= 0) {
        next[last[first] as number] = index;
        last[first] = index;
        continue;
      }
      hashes[index] = value;
      table[place] = index + 1;
      last[index] = index;
      firsts[count++] = index;
    }
    if (this.pending === 0) this.resolveDone();
    return { firsts, count, hashes };
  }

  /** Sets the cursor to an entry. */
  point(index: number): MessageAt {
    const { cursor, entries } = this;
    cursor.conversationAt = entries.conversationAt[index] as number;
    cursor.messageAt = entries.messageAt[index] as number;
    cursor.seqHi = entries.seqHi[index] as number;
    cursor.seqLo = entries.seqLo[index] as number;
    return cursor;
  }

  /** Settles what is pending in a chain with a code that has no body. */
  settle(first: number, code: ResultCode): void {
    assert(code !== ResultCode.PENDING);
    if (this.closed) return;
    for (let index = first; index !== END; index = this.next[index] as number) {
      if (this.entries.code[index] === ResultCode.PENDING) this.settleEntry(index, code, 0);
    }
  }

  /**
   * Settles every pending entry of a chain whose floor the body meets; the body is copied once, and only when one
   * does. Returns false when an entry stays pending because its floor is higher.
   */
  settleBody(first: number, body: BodySource): boolean {
    if (this.closed) return true;
    const { entries, next } = this;
    let allMet = true;
    let position = 0;
    let code = body.code;
    for (let index = first; index !== END; index = next[index] as number) {
      if (entries.code[index] !== ResultCode.PENDING) continue;
      if (!this.meetsFloor(index, body)) {
        allMet = false;
        continue;
      }
      if (position === 0 && code !== ResultCode.DEFERRED) {
        position = this.copyIn(body);
        if (position === 0) code = ResultCode.DEFERRED;
      }
      this.settleEntry(index, code, position);
    }
    return allMet;
  }

  /** A place in a flight's queue for a chain; the batch leaves it at its deadline, so that no flight keeps it alive. */
  waiterFor(first: number): Waiter {
    const waiter: Waiter = { batch: this, first };
    this.waiters.push(waiter);
    return waiter;
  }

  /** Everything still pending becomes DEADLINE, and the batch leaves every flight that it waits for. */
  close(): void {
    if (this.closed) return;
    const { code } = this.entries;
    for (let index = 0; index < this.entries.count; index++) {
      if (code[index] === ResultCode.PENDING) this.settleEntry(index, ResultCode.DEADLINE, 0);
    }
    this.closed = true;
    for (const waiter of this.waiters) waiter.batch = undefined;
  }

  /** Whether an entry of a chain came with a floor. */
  hasFloorIn(first: number): boolean {
    const { floorAt, floorVersion } = this.entries;
    for (let index = first; index !== END; index = this.next[index] as number) {
      if (floorAt[index] !== ABSENT || floorVersion[index] !== 0n) return true;
    }
    return false;
  }

  get isSettled(): boolean {
    return this.pending === 0;
  }

  /**
   * Takes bodies out again, and makes their entries NOT_YET. `isOutdated` is asked once per body, by the first entry
   * that has it.
   */
  withdraw(
    isOutdated: (index: number, code: number, body: Uint8Array, dekId: BodySource['dekId']) => boolean,
  ): void {
    const { code, body, count } = this.entries;
    const views = this.bodies.views();
    const kept = new Uint8Array(views.length).fill(1);
    const asked = new Uint8Array(views.length);
    for (let index = 0; index < count; index++) {
      const position = body[index] as number;
      if (position === 0 || asked[position - 1] === 1) continue;
      asked[position - 1] = 1;
      const [view, dekId] = [views[position - 1] as Uint8Array, this.sealedBy[position - 1]];
      if (isOutdated(index, code[index] as number, view, dekId)) kept[position - 1] = 0;
    }
    if (!kept.includes(0)) return;
    const positions = this.bodies.keepOnly(kept);
    for (let index = 0; index < count; index++) {
      const position = body[index] as number;
      if (position === 0) continue;
      body[index] = positions[position - 1] as number;
      if (body[index] === 0) code[index] = ResultCode.NOT_YET;
    }
  }

  outcome(): JoinOutcome {
    assert(this.pending === 0);
    this.closed = true;
    this.receipt.bodyBytes = this.bodies.bodyBytes;
    return {
      entries: this.entries,
      bodies: this.bodies,
      receipt: this.receipt,
      wantReceipt: this.request.wantReceipt,
    };
  }

  private settleEntry(index: number, code: number, position: number): void {
    this.entries.code[index] = code;
    this.entries.body[index] = position;
    if (--this.pending === 0) this.resolveDone();
  }

  /**
   * Copies a body into the response; its position from 1, or 0 when the response is full. The request's own limit never
   * keeps the first body out.
   */
  private copyIn(body: BodySource): number {
    const { bodies } = this;
    if (bodies.count > 0 && bodies.bodyBytes + body.bodyBytes > this.request.responseBytesMax) return 0;
    const at = bodies.append(body.bodyBytes);
    if (at === NO_ROOM) return 0;
    body.copyTo(bodies.buffer, at);
    this.sealedBy.push(body.dekId);
    return bodies.count;
  }

  private meetsFloor(index: number, body: BodySource): boolean {
    const { entries } = this;
    const floorAt = entries.floorAt[index] as number;
    const floorVersion = entries.floorVersion[index] as bigint;
    if (floorAt === ABSENT && floorVersion === 0n) return true;
    return body.meetsFloor(entries.bytes, floorAt, floorVersion);
  }

  /** Mixes an entry's coordinates into its hash, so that one message_id at many coordinates does not pile up. */
  private spread(hash: number, index: number): number {
    const { entries } = this;
    const { bytes } = entries;
    let mixed =
      hash ^ Math.imul(entries.seqLo[index] as number, 0x9e3779b1) ^ (entries.seqHi[index] as number);
    const end = (entries.conversationAt[index] as number) + ID_BYTES;
    for (let at = end - ID_BYTES; at < end; at++)
      mixed = Math.imul(mixed ^ (bytes[at] as number), 0x01000193);
    return mixed ^ (mixed >>> 15);
  }

  private sameMessage(a: number, b: number): boolean {
    const { entries } = this;
    const { bytes } = entries;
    return (
      entries.seqLo[a] === entries.seqLo[b] &&
      entries.seqHi[a] === entries.seqHi[b] &&
      equalIdAt(bytes, entries.messageAt[a] as number, bytes, entries.messageAt[b] as number) &&
      equalIdAt(bytes, entries.conversationAt[a] as number, bytes, entries.conversationAt[b] as number)
    );
  }
}
