/**
 * One result per entry (design: "One result per entry"). The numbers are the wire contract's (proto/mailjoin.proto)
 * and never change their meaning.
 */
export const ResultCode = {
  /** Not yet settled; never sent. */
  PENDING: 0,
  OK: 1,
  /** The entry carried its own body; nothing was read, nothing is sent back for it. */
  INLINE: 2,
  /** A body without content (D12). */
  RECALLED: 3,
  NOT_FOUND: 4,
  /** The store's row is older than the floor that the caller or a log event set, or the body went while its batch waited. */
  NOT_YET: 5,
  /** The row at those coordinates carries another message_id. */
  MISMATCH: 6,
  /** The key that sealed it was destroyed (R3.2, D12). */
  ERASED: 7,
  /** It does not authenticate, or is unsealed where that is not allowed (D22). */
  TAMPERED: 8,
  /** Store or key provider did not answer; asking again can help. */
  UNAVAILABLE: 9,
  DEADLINE: 10,
  /** The response reached its byte limit, or the group's read its own or half of its time; ask again for these. */
  DEFERRED: 11,
  INVALID: 12,
} as const;
export type ResultCode = (typeof ResultCode)[keyof typeof ResultCode];

const NAMES: readonly string[] = Object.entries(ResultCode)
  .sort(([, a], [, b]) => a - b)
  .map(([name]) => name);

/** The name of a result code, as in the JSON form and in metric labels. */
export function resultName(code: number): string {
  return NAMES[code] ?? `CODE_${code}`;
}

/** How many result codes there are; for per-code counters. */
export const RESULT_CODE_COUNT = NAMES.length;

/** Why an entry is INVALID; the numbers are the wire contract's. */
export const InvalidReason = {
  NONE: 0,
  CONVERSATION_ID_LENGTH: 1,
  MESSAGE_ID_LENGTH: 2,
  SEQ_RANGE: 3,
  MAILBOX_SEQ_RANGE: 4,
  FLOOR_MALFORMED: 5,
  /** Text forms only: not a uuid, not hexadecimal, not a decimal number, or of the wrong type. */
  MALFORMED: 6,
} as const;
export type InvalidReason = (typeof InvalidReason)[keyof typeof InvalidReason];

const REASONS: readonly string[] = Object.entries(InvalidReason)
  .sort(([, a], [, b]) => a - b)
  .map(([name]) => name);

/** The name of an INVALID reason, as in the JSON form. */
export function invalidReasonName(reason: number): string {
  return REASONS[reason] ?? `REASON_${reason}`;
}
