/** What the requests for one message share: ids as bytes or text, the deadline that is left, and how results are named. */
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES, parseIdHex, parseUuid } from '../domain/ids.js';
import { DEADLINE_MS_MAX } from '../domain/limits.js';
import { ResultCode, resultName } from '../domain/result.js';
import type { ResultName } from './join-result.js';
import { protocolError } from './protocol-error.js';

type GivenId = Uint8Array | string;

/** uuid: 16 bytes in network order, or its text form. TENANT_MISSING. */
export function tenantBytes(id: GivenId): Uint8Array {
  const bytes = idBytes(id, parseUuid);
  if (bytes === undefined) throw new MailjoinError('TENANT_MISSING');
  return bytes;
}

/** uuid: 16 bytes in network order, or its text form. REQUEST_MALFORMED. */
export function uuidBytes(id: GivenId, name: string): Uint8Array {
  return required(idBytes(id, parseUuid), name);
}

/** The same, where there may be none. */
export function optionalUuidBytes(id: GivenId | undefined, name: string): Uint8Array | undefined {
  return id === undefined ? undefined : uuidBytes(id, name);
}

/** u128: 16 bytes big-endian, or 32 hexadecimal digits. REQUEST_MALFORMED. */
export function messageIdBytes(id: GivenId, name: string): Uint8Array {
  return required(idBytes(id, parseIdHex), name);
}

function idBytes(id: GivenId, parse: (text: string) => Uint8Array | undefined): Uint8Array | undefined {
  const bytes = typeof id === 'string' ? parse(id) : id;
  return bytes?.length === ID_BYTES ? bytes : undefined;
}

function required(bytes: Uint8Array | undefined, name: string): Uint8Array {
  if (bytes === undefined) throw new MailjoinError('REQUEST_MALFORMED', `${name} has no 16 bytes`);
  return bytes;
}

/** A TypeError for a count that is none. */
export function checkCount(value: number | undefined, name: string): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
    throw new TypeError(`${name} must be a whole number from 1`);
  }
}

/** What is left of a deadline on performance.now(), for the sidecar. */
export function leftMs(deadlineAtMs: number): number {
  return Math.min(Math.max(1, Math.floor(deadlineAtMs - performance.now())), DEADLINE_MS_MAX);
}

/** The name of a result; one that this client does not know reads as UNAVAILABLE (the contract's compatibility rule). */
export function settledName(code: number): ResultName {
  if (code === ResultCode.PENDING) throw protocolError('a message that is not settled');
  // PENDING aside, the names of the codes are exactly those of the results.
  return code > ResultCode.INVALID ? 'UNAVAILABLE' : (resultName(code) as ResultName);
}

/** Whether a message of this result has a body. */
export function hasBody(code: number): boolean {
  return code === ResultCode.OK || code === ResultCode.RECALLED;
}

/** An id of a response, as bytes of its own. */
export function responseId(bytes: Uint8Array): Uint8Array {
  if (bytes.length !== ID_BYTES) throw protocolError('an id that has not 16 bytes');
  return Uint8Array.from(bytes);
}
