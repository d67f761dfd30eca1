/**
 * Bounds what the server has in flight: batches, bytes of requests, bytes of responses not yet taken by their
 * readers (B21). Owned by the main thread; synchronous. What does not fit is refused with OVERLOADED, at once.
 *
 * MAILBOX_BATCH leaves a reserve of batches free, so that backlogs never starve live delivery. A response's size is
 * known only when it is joined: a batch is counted with what its entries are expected to bring, then with the memory
 * that its response really holds, which is asked for before it grows.
 */
import { strict as assert } from 'node:assert';
import { RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import {
  BATCHES_MAX,
  BATCHES_PUSH_RESERVE,
  REQUEST_BYTES_IN_FLIGHT_MAX,
  RESPONSE_BYTES_IN_FLIGHT_MAX,
  RESPONSE_ENTRY_BYTES_EXPECTED,
} from '../domain/limits.js';

export interface AdmissionLimits {
  readonly batchesMax: number;
  /** Of batchesMax, those that only PUSH_EVENTS may use. */
  readonly batchesPushReserve: number;
  readonly requestBytesMax: number;
  readonly responseBytesMax: number;
}

export const ADMISSION_DEFAULT: AdmissionLimits = {
  batchesMax: BATCHES_MAX,
  batchesPushReserve: BATCHES_PUSH_RESERVE,
  requestBytesMax: REQUEST_BYTES_IN_FLIGHT_MAX,
  responseBytesMax: RESPONSE_BYTES_IN_FLIGHT_MAX,
};

/** The limits with another number of batches; the reserve keeps its share. */
export function admissionFor(batchesMax: number): AdmissionLimits {
  const share = BATCHES_PUSH_RESERVE / BATCHES_MAX;
  return { ...ADMISSION_DEFAULT, batchesMax, batchesPushReserve: Math.floor(batchesMax * share) };
}

export class Admission {
  private readonly limits: AdmissionLimits;
  private batchCount = 0;
  private requestByteCount = 0;
  private responseByteCount = 0;

  constructor(limits: AdmissionLimits = ADMISSION_DEFAULT) {
    assert(limits.batchesPushReserve < limits.batchesMax);
    this.limits = limits;
  }

  get batches(): number {
    return this.batchCount;
  }

  get requestBytes(): number {
    return this.requestByteCount;
  }

  get responseBytes(): number {
    return this.responseByteCount;
  }

  /** Counts request bytes, or refuses them. */
  addRequestBytes(bytes: number): void {
    if (this.requestByteCount + bytes > this.limits.requestBytesMax) {
      throw new MailjoinError('OVERLOADED', 'too many request bytes are in flight');
    }
    this.requestByteCount += bytes;
  }

  releaseRequestBytes(bytes: number): void {
    this.requestByteCount -= bytes;
    assert(this.requestByteCount >= 0);
  }

  /** Admits a batch, or refuses it; answers the response bytes that it is counted with from now on. */
  admit(kind: RequestKind, entryCount: number, responseBytesMax: number): number {
    const reserve = kind === RequestKind.PUSH_EVENTS ? 0 : this.limits.batchesPushReserve;
    if (this.batchCount >= this.limits.batchesMax - reserve) {
      throw new MailjoinError('OVERLOADED', 'too many batches are in flight');
    }
    const expected = Math.min(responseBytesMax, entryCount * RESPONSE_ENTRY_BYTES_EXPECTED);
    if (this.responseByteCount + expected > this.limits.responseBytesMax) {
      throw new MailjoinError('OVERLOADED', 'too many response bytes are in flight');
    }
    this.batchCount++;
    this.responseByteCount += expected;
    return expected;
  }

  /** Counts a batch with what its response holds instead of what it was counted with; false when that does not fit. */
  tryHold(countedBytes: number, heldBytes: number): boolean {
    if (this.responseByteCount - countedBytes + heldBytes > this.limits.responseBytesMax) return false;
    this.responseByteCount += heldBytes - countedBytes;
    return true;
  }

  /** Ends a batch that was counted with these response bytes. */
  release(responseBytes: number): void {
    this.batchCount--;
    this.responseByteCount -= responseBytes;
    assert(this.batchCount >= 0 && this.responseByteCount >= 0);
  }
}
