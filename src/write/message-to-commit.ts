/**
 * A message as a writer's caller gives it, and the checks before anything is written (R1.1, R5.3, B50). Input from
 * outside: it is refused with MESSAGE_INVALID, MESSAGE_TOO_LARGE or SEQ_RANGE, never asserted. Pure.
 */
import { WireError, WireReader } from '../codec/wire.js';
import { envelopeOverhead, Suite } from '../domain/envelope.js';
import { MailjoinError } from '../domain/errors.js';
import { type ConversationId, ID_BYTES, type TenantId, type UserId } from '../domain/ids.js';
import {
  CLIENT_MESSAGE_ID_BYTES_MAX,
  CUSTOM_TYPE_BYTES_MAX,
  LOG_RECORD_OVERHEAD_BYTES,
  MENTIONS_MAX,
  PAYLOAD_BYTES_MAX,
  PREVIEW_BYTES_MAX,
  THUMBNAIL_BYTES_MAX,
} from '../domain/limits.js';
import { RetentionClass } from '../domain/message.js';
import { requireSeq } from '../domain/write-checks.js';

/** Byte fields are not changed; they must not change before the commit has settled. */
export interface MessageToCommit {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly senderId: UserId;
  readonly senderDeviceId?: UserId | undefined;
  /** Names the message among its sender's for two hours: a retry has the same (R2, D16). */
  readonly clientMessageId: string;
  readonly messageType?: number | undefined;
  readonly customType?: string | undefined;
  readonly schemaVersion?: number | undefined;
  /** Plaintext, or end-to-end encrypted bytes, which are only carried (R6.3). */
  readonly payload: Uint8Array;
  /** common.proto's MediaMetadata (R5.3). */
  readonly mediaMetadata?: Uint8Array | undefined;
  readonly replyToSeq?: bigint | undefined;
  /** common.proto's MentionTargets (R5.3). */
  readonly mentionTargets?: Uint8Array | undefined;
  /** RetentionClass; default where absent. */
  readonly retentionClass?: number | undefined;
  /** Plaintext of the head's preview while this is the last message; none where absent. */
  readonly preview?: Uint8Array | undefined;
}

const LONE_SURROGATE = /\p{Surrogate}/u;
const INT32_MAX = 0x7fff_ffff;
const MEDIA_THUMBNAIL_FIELD = 7;
const MENTIONS_USER_FIELD = 1;
const BYTES_WIRE_TYPE = 2;
const RETENTION_CLASSES: readonly number[] = Object.values(RetentionClass);

/** Refuses what cannot be a message, before anything is written. `recordBytesMax` is the log's (B50). */
export function checkMessage(message: MessageToCommit, recordBytesMax: number): void {
  checkId(message.tenantId, 'tenant_id');
  checkId(message.conversationId, 'conversation_id');
  checkId(message.senderId, 'sender_id');
  if (message.senderDeviceId !== undefined) checkId(message.senderDeviceId, 'sender_device_id');
  checkText(message.clientMessageId, 'client_message_id', 1, CLIENT_MESSAGE_ID_BYTES_MAX);
  if (message.customType !== undefined) {
    checkText(message.customType, 'custom_type', 0, CUSTOM_TYPE_BYTES_MAX);
  }
  checkInteger(message.messageType, 'message_type', -128, 127);
  checkInteger(message.schemaVersion, 'schema_version', -INT32_MAX - 1, INT32_MAX);
  if (message.retentionClass !== undefined && !RETENTION_CLASSES.includes(message.retentionClass)) {
    throw invalid(`retention_class ${message.retentionClass} is none`);
  }
  requireSeq(message.replyToSeq, 'reply_to_conversation_seq');
  if (message.mediaMetadata !== undefined) checkMedia(message.mediaMetadata);
  if (message.mentionTargets !== undefined) checkMentions(message.mentionTargets);
  if ((message.preview?.length ?? 0) > PREVIEW_BYTES_MAX) {
    throw new MailjoinError('MESSAGE_TOO_LARGE', `a preview has at most ${PREVIEW_BYTES_MAX} bytes`);
  }
  const besidePayload = (message.mediaMetadata?.length ?? 0) + (message.mentionTargets?.length ?? 0);
  checkSize(message.payload, besidePayload, recordBytesMax);
}

/** Refuses a payload that is too large as a message, or whose log record would be (B50), the rest counted at its most. */
export function checkSize(payload: Uint8Array, besidePayloadBytes: number, recordBytesMax: number): void {
  if (payload.length > PAYLOAD_BYTES_MAX) {
    throw new MailjoinError('MESSAGE_TOO_LARGE', `a payload has at most ${PAYLOAD_BYTES_MAX} bytes`);
  }
  const sealedBytes = payload.length + envelopeOverhead(Suite.XCHACHA20_POLY1305);
  if (sealedBytes + besidePayloadBytes + LOG_RECORD_OVERHEAD_BYTES > recordBytesMax) {
    throw new MailjoinError('MESSAGE_TOO_LARGE', `the log takes records of at most ${recordBytesMax} bytes`);
  }
}

/** Refuses what is no id: brands are the compiler's, and a library's callers may have none. */
export function checkId(id: Uint8Array, name: string): void {
  if (id.length !== ID_BYTES) throw invalid(`${name} has not ${ID_BYTES} bytes`);
}

/** A lone surrogate has no UTF-8 form: two such texts would become the same key. */
function checkText(text: string, name: string, bytesMin: number, bytesMax: number): void {
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes < bytesMin || bytes > bytesMax || LONE_SURROGATE.test(text)) {
    throw invalid(`${name} has ${bytesMin} to ${bytesMax} bytes of UTF-8`);
  }
}

function checkInteger(value: number | undefined, name: string, min: number, max: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return;
  throw invalid(`${name} is a whole number from ${min} to ${max}`);
}

function checkMedia(bytes: Uint8Array): void {
  forEachBytes(bytes, 'media_metadata', (field, length) => {
    if (field === MEDIA_THUMBNAIL_FIELD && length > THUMBNAIL_BYTES_MAX) {
      throw new MailjoinError(
        'MESSAGE_TOO_LARGE',
        `a thumbnail has at most ${THUMBNAIL_BYTES_MAX} bytes (R5.3)`,
      );
    }
  });
}

function checkMentions(bytes: Uint8Array): void {
  let users = 0;
  forEachBytes(bytes, 'mention_targets', (field, length) => {
    if (field !== MENTIONS_USER_FIELD) return;
    if (length !== ID_BYTES) throw invalid('mention_targets: a user id has 16 bytes (R5.3)');
    if (++users > MENTIONS_MAX) throw invalid(`mention_targets names at most ${MENTIONS_MAX} users`);
  });
}

/** Walks a message's fields; `see` is told field number and length of those that are length-delimited. */
function forEachBytes(bytes: Uint8Array, name: string, see: (field: number, length: number) => void): void {
  const reader = new WireReader(bytes);
  try {
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
      if ((tag & 7) === BYTES_WIRE_TYPE) see(tag >>> 3, reader.passBytes());
      else reader.skip(tag);
    }
  } catch (error) {
    if (error instanceof WireError) throw new MailjoinError('MESSAGE_INVALID', name, { cause: error });
    throw error;
  }
}

function invalid(detail: string): MailjoinError {
  return new MailjoinError('MESSAGE_INVALID', detail);
}
