/**
 * Open reservations: slots that one flight each may fill, found by message, so that an invalidation or a destroyed key
 * reaches a body before it is published. A fixed table of chains; its length is bounded by FLIGHTS_MAX (and by the
 * arena). Owned by the writer's thread. Settling a slot twice is a bug and asserted.
 */
import { strict as assert } from 'node:assert';
import type { BodySlot } from '../domain/ports.js';
import { SLOT_HASH_LO, SLOT_HEADER_BYTES, SLOT_KEY, type SlotUnit, slotWord, UNIT_BYTES } from './layout.js';
import type { MessageKey } from './message-key.js';
import type { Region } from './region.js';

const CHAINS = 4096;

/** A slot of the region as its flight sees it. */
export class Reservation implements BodySlot {
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly bodyBytes: number;
  readonly shared = true;
  readonly slotUnit: SlotUnit;
  /** The message was removed meanwhile: what was read of it must not be cached. */
  cancelled = false;
  isOpen = true;
  next: Reservation | undefined;

  constructor(bytes: Uint8Array, slotUnit: SlotUnit, bodyBytes: number, next: Reservation | undefined) {
    this.bytes = bytes;
    this.at = slotUnit * UNIT_BYTES + SLOT_HEADER_BYTES;
    this.bodyBytes = bodyBytes;
    this.slotUnit = slotUnit;
    this.next = next;
  }
}

export class Reservations {
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #chains: (Reservation | undefined)[] = new Array(CHAINS).fill(undefined);
  #size = 0;

  constructor(region: Region) {
    this.#bytes = region.bytes;
    this.#words = region.words;
  }

  get size(): number {
    return this.#size;
  }

  /** Registers a slot whose header is written. */
  add(slotUnit: SlotUnit, bodyBytes: number): Reservation {
    const chain = this.#chainOf(this.#hashLoOf(slotUnit));
    const reservation = new Reservation(this.#bytes, slotUnit, bodyBytes, this.#chains[chain]);
    this.#chains[chain] = reservation;
    this.#size++;
    return reservation;
  }

  /** The open reservation behind a slot that this cache gave out. */
  openOf(slot: BodySlot): Reservation {
    assert(slot instanceof Reservation && slot.bytes === this.#bytes, 'a slot of this region');
    assert(slot.isOpen, 'a slot is settled once');
    return slot;
  }

  /** Takes it out, once it is published or released. */
  settle(reservation: Reservation): void {
    reservation.isOpen = false;
    this.#size--;
    const chain = this.#chainOf(this.#hashLoOf(reservation.slotUnit));
    const head = this.#chains[chain];
    if (head === reservation) {
      this.#chains[chain] = reservation.next;
      return;
    }
    let before = head;
    while (before !== undefined && before.next !== reservation) before = before.next;
    assert(before !== undefined, 'an open reservation is in its chain');
    before.next = reservation.next;
  }

  /** Keeps what is being filled for this message from being published. */
  cancel(key: MessageKey): void {
    let reservation = this.#chains[this.#chainOf(key.hashLo)];
    for (; reservation !== undefined; reservation = reservation.next) {
      if (key.namesSlot(this.#words, slotWord(reservation.slotUnit) + SLOT_KEY)) reservation.cancelled = true;
    }
  }

  /** Every open reservation; for rare events. */
  *all(): Iterable<Reservation> {
    for (const head of this.#chains) {
      for (let reservation = head; reservation !== undefined; reservation = reservation.next)
        yield reservation;
    }
  }

  #hashLoOf(slotUnit: SlotUnit): number {
    return this.#words[slotWord(slotUnit) + SLOT_HASH_LO] as number;
  }

  #chainOf(hashLo: number): number {
    return hashLo & (CHAINS - 1);
  }
}
