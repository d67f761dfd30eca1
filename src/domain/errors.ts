/**
 * The one table of operating errors: a stable code, the HTTP status it has on the socket, whether asking again
 * can help, and what it means. The README prints the same table, held to it by a test. Errors are told apart by
 * `code`, never by their text; payloads, keys and ids of messages never enter a text.
 */
const TABLE = {
  // requests
  REQUEST_MALFORMED: { status: 400, retryable: false, meaning: 'the request body cannot be decoded' },
  CONTRACT_VERSION: { status: 400, retryable: false, meaning: 'the contract version is not served here' },
  TENANT_MISSING: { status: 400, retryable: false, meaning: 'the request has no tenant_id of 16 bytes' },
  KIND_UNKNOWN: {
    status: 400,
    retryable: false,
    meaning: 'the request kind is neither MAILBOX_BATCH nor PUSH_EVENTS',
  },
  ENTRIES_TOO_MANY: {
    status: 413,
    retryable: false,
    meaning: 'the request has more entries than a batch may have',
  },
  REQUEST_TOO_LARGE: { status: 413, retryable: false, meaning: 'the request body is larger than the limit' },
  MEDIA_TYPE: { status: 415, retryable: false, meaning: 'the content type is not one that this route takes' },
  LENGTH_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'the length headers of the request are unusable',
  },
  NOT_FOUND: { status: 404, retryable: false, meaning: 'no such route' },
  LOOKUP_OFF: {
    status: 403,
    retryable: false,
    meaning:
      'look-ups by message_id are off on this socket; start the sidecar with --lookup (MAILJOIN_LOOKUP=true) to allow them',
  },
  METHOD: { status: 405, retryable: false, meaning: 'the route does not take this method' },
  OVERLOADED: {
    status: 503,
    retryable: true,
    meaning: 'too much work is in flight; ask again after the hint',
  },
  SHUTTING_DOWN: { status: 503, retryable: true, meaning: 'the process is stopping; ask its successor' },
  INTERNAL: {
    status: 500,
    retryable: true,
    meaning: 'a bug: an internal check failed and the operation was ended',
  },
  // stores
  STORE_UNAVAILABLE: {
    status: 503,
    retryable: true,
    meaning: 'the store did not answer in time or not at the consistency asked for',
  },
  STORE_CORRUPT: {
    status: 500,
    retryable: false,
    meaning: 'the store answered with rows that break an invariant (R4.2)',
  },
  STORE_MISSING: {
    status: 500,
    retryable: false,
    meaning: 'there is no store at the place that is named, and this command makes none',
  },
  ROWS_TOO_FEW: {
    status: 500,
    retryable: false,
    meaning: 'no bucket of the store has rows enough to measure on',
  },
  ROWS_CHANGED: {
    status: 500,
    retryable: true,
    meaning: 'most rows that were to be measured came or went meanwhile',
  },
  CLOCK_TOO_COARSE: {
    status: 500,
    retryable: false,
    meaning: 'the clock of this machine is too coarse to time a read of the store',
  },
  STORE_REFUSED: {
    status: 500,
    retryable: false,
    meaning: 'the store refused a statement or the credentials',
  },
  TLS_FAILED: {
    status: 500,
    retryable: false,
    meaning: 'no TLS connection came about that both sides accept; the message says which setting to look at',
  },
  SCHEMA_MISSING: {
    status: 500,
    retryable: false,
    meaning: 'the keyspace or one of its tables does not exist',
  },
  SCHEMA_MISMATCH: {
    status: 500,
    retryable: false,
    meaning: 'the live schema differs from what is required (R2, D11)',
  },
  BUCKET_WIDTH: {
    status: 500,
    retryable: false,
    meaning: 'the keyspace was made with another bucket width (D11)',
  },
  SEQ_RANGE: {
    status: 400,
    retryable: false,
    meaning: 'a sequence number is out of range, which is 0 to 2^63 - 1 (R1.1)',
  },
  TTL_RANGE: {
    status: 400,
    retryable: false,
    meaning: 'a time to live is 0, negative or above 20 years (D8)',
  },
  // keys
  KEY_FILE: {
    status: 500,
    retryable: false,
    meaning:
      'the key-encryption key file is missing, malformed, readable by others, or not that of the store’s keys',
  },
  KEY_EXISTS: {
    status: 409,
    retryable: false,
    meaning: 'a key of that id exists already, or existed and was destroyed',
  },
  KEY_UNKNOWN: { status: 404, retryable: false, meaning: 'no key of that id is known' },
  KEY_DESTROYED: { status: 410, retryable: false, meaning: 'the key of that id was destroyed' },
  KEY_UNAVAILABLE: { status: 503, retryable: true, meaning: 'the key provider did not answer' },
  // writing
  MESSAGE_TOO_LARGE: {
    status: 413,
    retryable: false,
    meaning: 'the message is larger than a message may be; nothing was written (B50)',
  },
  RECORD_TOO_LARGE: {
    status: 413,
    retryable: false,
    meaning: 'a record is larger than the log takes; it was not appended (B50)',
  },
  MESSAGE_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'a field of the message is missing or malformed; nothing was written',
  },
  CLIENT_MESSAGE_ID_REUSED: {
    status: 409,
    retryable: false,
    meaning: 'the client_message_id was used for another conversation',
  },
  MESSAGE_NOT_FOUND: { status: 404, retryable: false, meaning: 'no such message, or it expired' },
  MESSAGE_MISMATCH: {
    status: 409,
    retryable: false,
    meaning: 'the row at these coordinates has another message_id',
  },
  MESSAGE_RECALLED: {
    status: 409,
    retryable: false,
    meaning: 'the message was recalled, so it can be neither edited nor reacted to',
  },
  REACTION_INVALID: { status: 400, retryable: false, meaning: 'a reaction’s key is malformed or too long' },
  REACTION_KEYS_FULL: {
    status: 409,
    retryable: false,
    meaning: 'the message shows as many distinct reactions as it may',
  },
  LOG_UNAVAILABLE: { status: 503, retryable: true, meaning: 'the log did not take or give a record in time' },
  LOG_REFUSED: {
    status: 500,
    retryable: false,
    meaning: 'the brokers refused the credentials, or what they may do',
  },
  TOPIC_MISSING: {
    status: 500,
    retryable: false,
    meaning: 'the brokers have no topic of that name, and this command makes none',
  },
  LOG_CORRUPT: { status: 500, retryable: false, meaning: 'a record of the log cannot be decoded' },
  // start-up
  CONFIG_INVALID: {
    status: 500,
    retryable: false,
    meaning: 'a setting is missing, unknown or out of range; the message names it',
  },
  SOCKET_IN_USE: { status: 500, retryable: false, meaning: 'a live process answers on the socket path' },
  SOCKET_PATH: {
    status: 500,
    retryable: false,
    meaning: 'the socket path is unusable: not a socket, too long, or its directory is missing',
  },
  REGION_INVALID: {
    status: 500,
    retryable: false,
    meaning: 'the shared region has another layout or is too small',
  },
  JAVA_MISSING: {
    status: 500,
    retryable: false,
    meaning: 'Java 17 or Maven is not installed, so no Cassandra can be started',
  },
  SERVICE_START: {
    status: 500,
    retryable: true,
    meaning: 'a Cassandra or Kafka started by mailjoin did not become ready',
  },
  // client side
  CLIENT_CONNECT: { status: 0, retryable: true, meaning: 'the client could not connect to the socket' },
  CLIENT_DISCONNECTED: {
    status: 0,
    retryable: true,
    meaning: 'the connection ended before the response did',
  },
  CLIENT_TIMEOUT: { status: 0, retryable: true, meaning: 'no response within the client deadline' },
  CLIENT_PROTOCOL: { status: 0, retryable: false, meaning: 'the response is not one of this contract' },
  CLIENT_CLOSED: { status: 0, retryable: false, meaning: 'the client was closed' },
} as const;

export type ErrorCode = keyof typeof TABLE;

/** The table, for the README's test and for clients. */
export const ERROR_TABLE: Readonly<
  Record<ErrorCode, { status: number; retryable: boolean; meaning: string }>
> = TABLE;

/** An operating error of mailjoin. `cause` keeps what lay beneath. */
export class MailjoinError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, detail?: string, options?: { cause?: unknown }) {
    super(detail === undefined ? TABLE[code].meaning : `${TABLE[code].meaning}: ${detail}`, options);
    this.name = 'MailjoinError';
    this.code = code;
  }

  /** The HTTP status of this error on the socket; 0 for errors that never cross it. */
  get status(): number {
    return TABLE[this.code].status;
  }

  /** Whether the same call can succeed later. */
  get retryable(): boolean {
    return TABLE[this.code].retryable;
  }
}
