/**
 * What a gateway asks for: the request's types, and their checks before anything is sent.
 *
 * Only what spoils the whole request is refused here (the tenant, the number of entries, a wrong JavaScript type); a
 * bad entry is sent as it is and comes back INVALID alone, so that the sidecar stays the one judge of entries.
 */
import { MailjoinError } from '../domain/errors.js';
import { parseUuid, tenantIdOf } from '../domain/ids.js';
import { DEADLINE_MS_DEFAULT, ENTRIES_MAX } from '../domain/limits.js';

/** One reference to turn into a body. Byte fields are read until the call settles and must not change before. */
export interface JoinEntry {
  /** uuid: 16 bytes in network order, or its text form. */
  readonly conversationId: Uint8Array | string;
  /** conversation_seq; from 2^63 on the entry is INVALID (R1.1, D6). */
  readonly seq: bigint;
  /** u128: 16 bytes big-endian, or 32 hexadecimal digits. */
  readonly messageId: Uint8Array | string;
  /** Checked like `seq`; otherwise without effect. */
  readonly mailboxSeq?: bigint | undefined;
  /** Only a body at or above this is wanted; else the entry is NOT_YET. */
  readonly floor?: JoinFloor | undefined;
  /**
   * The body that the caller has already: the entry is INLINE, and its outcome gives these bytes back. They are not
   * sent to the sidecar.
   */
  readonly inlineBody?: Uint8Array | undefined;
}

export interface JoinFloor {
  /** last_activity_id, the body's revision: 16 bytes big-endian. */
  readonly lastActivityId?: Uint8Array | undefined;
  /** summary_version of the reactions. */
  readonly summaryVersion?: bigint | undefined;
}

export interface JoinRequest {
  /** A device that catches up, or live delivery: it chooses the default deadline and the sidecar's admission. */
  readonly kind: 'MAILBOX_BATCH' | 'PUSH_EVENTS';
  /** uuid: 16 bytes in network order, or its text form. */
  readonly tenantId: Uint8Array | string;
  /** At most 4,096; results come in this order. */
  readonly entries: readonly JoinEntry[];
  /**
   * Milliseconds after which the sidecar answers with what it has (the rest: DEADLINE); repeats share it. Default:
   * 5,000 for MAILBOX_BATCH and 1,000 for PUSH_EVENTS, or less where the call's `timeoutMs` is shorter.
   */
  readonly deadlineMs?: number | undefined;
  /** Bytes of bodies in one response; bodies beyond it are DEFERRED. Default 16 MiB, at most 64 MiB. */
  readonly responseBytesMax?: number | undefined;
  /** Ask for a receipt: what the batch cost. */
  readonly wantReceipt?: boolean | undefined;
  /** Ask again for DEFERRED entries until none is left, `repeatMax` is reached or the deadline has passed. */
  readonly repeatDeferred?: boolean | undefined;
  /** Requests in all with `repeatDeferred`, the first included. Default 16. */
  readonly repeatMax?: number | undefined;
}

/** Settings of a single call. */
export interface CallOptions {
  /**
   * Milliseconds for the whole call, waiting for a connection, repeats and retries included; then CLIENT_TIMEOUT.
   * Default: the client's, else the deadline and half a second.
   */
  readonly timeoutMs?: number | undefined;
  /** Gives the call up: it rejects with the signal's reason, and a response under way reaches nobody. */
  readonly signal?: AbortSignal | undefined;
  /** How often a 503 or a failed connect is tried again, after the sidecar's hint. Default: the client's, else 0. */
  readonly retries?: number | undefined;
}

/** A request that was checked: what the encoder writes. */
export interface PreparedJoin {
  readonly request: JoinRequest;
  readonly tenantId: Uint8Array;
  /** Bytes of all ids, for sizing the request. */
  readonly idBytes: number;
}

/** Throws TENANT_MISSING, ENTRIES_TOO_MANY, KIND_UNKNOWN or a TypeError for a value of a wrong type. */
export function prepareJoin(request: JoinRequest): PreparedJoin {
  const { tenantId, entries, kind } = request;
  const tenant = typeof tenantId === 'string' ? parseUuid(tenantId) : tenantId;
  if (tenant === undefined || tenantIdOf(tenant) === undefined) throw new MailjoinError('TENANT_MISSING');
  if (kind !== 'MAILBOX_BATCH' && kind !== 'PUSH_EVENTS') throw new MailjoinError('KIND_UNKNOWN');
  if (entries.length > ENTRIES_MAX) {
    throw new MailjoinError('ENTRIES_TOO_MANY', `${entries.length} entries, at most ${ENTRIES_MAX}`);
  }
  checkAmount(request.deadlineMs, 'deadlineMs');
  checkAmount(request.responseBytesMax, 'responseBytesMax');
  checkAmount(request.repeatMax, 'repeatMax');
  let idBytes = 0;
  for (let index = 0; index < entries.length; index++) idBytes += checkEntry(entries[index] as JoinEntry);
  return { request, tenantId: tenant, idBytes };
}

/** Bytes of the entry's ids; a wrong type is a mistake in the calling program, not an entry to be judged. */
function checkEntry(entry: JoinEntry): number {
  const { conversationId, messageId, seq, mailboxSeq, floor, inlineBody } = entry;
  if (typeof seq !== 'bigint') throw new TypeError('seq must be a bigint');
  if (mailboxSeq !== undefined && typeof mailboxSeq !== 'bigint') {
    throw new TypeError('mailboxSeq must be a bigint');
  }
  if (inlineBody !== undefined && !(inlineBody instanceof Uint8Array)) {
    throw new TypeError('inlineBody must be bytes');
  }
  const floorBytes = floor === undefined ? 0 : checkFloor(floor);
  return checkId(conversationId, 'conversationId') + checkId(messageId, 'messageId') + floorBytes;
}

/** A TypeError for an amount that is none. */
export function checkAmount(value: number | undefined, name: string): void {
  if (value !== undefined && !(value >= 1 && Number.isFinite(value))) {
    throw new TypeError(`${name} must be a number from 1`);
  }
}

function checkId(id: Uint8Array | string, name: string): number {
  if (typeof id !== 'string' && !(id instanceof Uint8Array))
    throw new TypeError(`${name} must be bytes or text`);
  return id.length;
}

function checkFloor(floor: JoinFloor): number {
  const { lastActivityId, summaryVersion } = floor;
  if (summaryVersion !== undefined && typeof summaryVersion !== 'bigint') {
    throw new TypeError('summaryVersion must be a bigint');
  }
  if (lastActivityId === undefined) return 0;
  if (!(lastActivityId instanceof Uint8Array)) throw new TypeError('lastActivityId must be bytes');
  return lastActivityId.length;
}

/** The deadline to ask the sidecar for, and the time that the whole call may take, in milliseconds. */
export interface CallTimes {
  readonly deadlineMs: number;
  readonly timeoutMs: number;
}

/**
 * Who names neither gets the kind's deadline and the grace behind it; a timeout alone lowers an unnamed deadline, so
 * that partial results arrive before it.
 */
export function callTimes(
  request: Pick<JoinRequest, 'kind' | 'deadlineMs'>,
  timeoutMs: number | undefined,
  graceMs: number,
): CallTimes {
  checkAmount(timeoutMs, 'timeoutMs');
  if (request.deadlineMs !== undefined) {
    const deadlineMs = Math.ceil(request.deadlineMs);
    return { deadlineMs, timeoutMs: timeoutMs ?? deadlineMs + graceMs };
  }
  const usualMs = DEADLINE_MS_DEFAULT[request.kind];
  if (timeoutMs === undefined) return { deadlineMs: usualMs, timeoutMs: usualMs + graceMs };
  const roomMs = Math.min(graceMs, timeoutMs / 2);
  return { deadlineMs: Math.max(1, Math.min(usualMs, Math.floor(timeoutMs - roomMs))), timeoutMs };
}
