/**
 * One message in detail (R4.5): MessageRequest (proto/mailjoin.proto) in the three media types. What is wrong with the
 * question is an error of the whole: REQUEST_MALFORMED, CONTRACT_VERSION, TENANT_MISSING or SEQ_RANGE (D6).
 */
import { MailjoinError } from '../domain/errors.js';
import type { ConversationId, MessageId, TenantId, UserId } from '../domain/ids.js';
import {
  DEADLINE_MS_DEFAULT,
  DEADLINE_MS_MAX,
  REACTORS_LIMIT_DEFAULT,
  REACTORS_LIMIT_MAX,
} from '../domain/limits.js';
import { isSeq } from '../domain/seq.js';
import { bigintOf, bytesOf, textOf } from './field-reading.js';
import { JSON_DIALECT, parseJson } from './join-json.js';
import { MSGPACK_DIALECT, parseMsgpack } from './join-msgpack.js';
import { type Dialect, requestFields } from './loose-request.js';
import {
  checkVersion,
  decodeFields,
  lowered,
  malformed,
  optionalUser,
  requiredConversation,
  requiredMessage,
  requiredTenant,
  unsignedOf,
} from './request-checks.js';
import type { WireReader } from './wire.js';

export interface DetailRequest {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  readonly messageId: MessageId;
  /** Who asks; undefined = nobody's reactions are looked up. */
  readonly userId: UserId | undefined;
  /** From the request's arrival; 1 … DEADLINE_MS_MAX. */
  readonly deadlineMs: number;
  /** Who reacted; undefined = not asked for. */
  readonly reactors: ReactorsQuestion | undefined;
}

/** A page of those who reacted. */
export interface ReactorsQuestion {
  /** 1 … REACTORS_LIMIT_MAX. */
  readonly limit: number;
  /** Only users behind this one; undefined = the first page. */
  readonly after: UserId | undefined;
  /** Only this reaction, as it was sent; undefined = all. */
  readonly reactionKey: string | undefined;
}

/** The fields as a media type brings them, unchecked; absent numbers are 0. */
interface DetailFields {
  version: bigint;
  tenantId?: Uint8Array | undefined;
  conversationId?: Uint8Array | undefined;
  seq: bigint;
  messageId?: Uint8Array | undefined;
  userId?: Uint8Array | undefined;
  deadlineMs: bigint;
  wantReactors: boolean;
  reactorsLimit: bigint;
  reactorsAfter?: Uint8Array | undefined;
  reactionKey: string;
}

export function decodeDetailRequest(bytes: Uint8Array): DetailRequest {
  const fields: DetailFields = {
    version: 0n,
    seq: 0n,
    deadlineMs: 0n,
    wantReactors: false,
    reactorsLimit: 0n,
    reactionKey: '',
  };
  return requestOf(decodeFields(bytes, fields, readField));
}

function readField(reader: WireReader, tag: number, fields: DetailFields): void {
  switch (tag >>> 3) {
    case 1:
      fields.version = bigintOf(reader, tag);
      break;
    case 2:
      fields.tenantId = bytesOf(reader, tag);
      break;
    case 3:
      fields.conversationId = bytesOf(reader, tag);
      break;
    case 4:
      fields.seq = bigintOf(reader, tag);
      break;
    case 5:
      fields.messageId = bytesOf(reader, tag);
      break;
    case 6:
      fields.userId = bytesOf(reader, tag);
      break;
    case 7:
      fields.deadlineMs = bigintOf(reader, tag);
      break;
    case 8:
      fields.wantReactors = bigintOf(reader, tag) !== 0n;
      break;
    case 9:
      fields.reactorsLimit = bigintOf(reader, tag);
      break;
    case 10:
      fields.reactorsAfter = bytesOf(reader, tag);
      break;
    case 11:
      fields.reactionKey = textOf(reader, tag);
      break;
    default:
      reader.skip(tag);
  }
}

export function decodeDetailRequestJson(bytes: Uint8Array): DetailRequest {
  return looseRequest(parseJson(bytes), JSON_DIALECT);
}

export function decodeDetailRequestMsgpack(bytes: Uint8Array): DetailRequest {
  return looseRequest(parseMsgpack(bytes), MSGPACK_DIALECT);
}

function looseRequest(value: unknown, dialect: Dialect): DetailRequest {
  const sent = requestFields(value);
  const unsigned = (name: string): bigint => unsignedOf(sent, name, dialect);
  const optionalUuid = (name: string): Uint8Array | undefined => {
    if (sent[name] === undefined) return undefined;
    const bytes = dialect.uuid(sent[name]);
    if (bytes === undefined) throw malformed(`${name} is no uuid`);
    return bytes;
  };
  const reactionKey = sent.reaction_key ?? '';
  if (typeof reactionKey !== 'string') throw malformed('reaction_key is no text');
  return requestOf({
    version: unsigned('contract_version'),
    tenantId: dialect.uuid(sent.tenant_id),
    conversationId: dialect.uuid(sent.conversation_id),
    seq: unsigned('conversation_seq'),
    messageId: dialect.id(sent.message_id),
    userId: optionalUuid('user_id'),
    deadlineMs: unsigned('deadline_ms'),
    wantReactors: sent.want_reactors === true,
    reactorsLimit: unsigned('reactors_limit'),
    reactorsAfter: optionalUuid('reactors_after'),
    reactionKey,
  });
}

function requestOf(fields: DetailFields): DetailRequest {
  const { version, seq, deadlineMs } = fields;
  checkVersion(version);
  const tenantId = requiredTenant(fields.tenantId);
  const conversationId = requiredConversation(fields.conversationId);
  const messageId = requiredMessage(fields.messageId);
  if (!isSeq(seq)) throw new MailjoinError('SEQ_RANGE', 'conversation_seq');
  return {
    tenantId,
    conversationId,
    seq,
    messageId,
    userId: optionalUser(fields.userId, 'user_id'),
    deadlineMs: lowered(deadlineMs, DEADLINE_MS_DEFAULT.MAILBOX_BATCH, DEADLINE_MS_MAX),
    reactors: fields.wantReactors ? reactorsOf(fields) : undefined,
  };
}

function reactorsOf({ reactorsLimit, reactorsAfter, reactionKey }: DetailFields): ReactorsQuestion {
  return {
    limit: lowered(reactorsLimit, REACTORS_LIMIT_DEFAULT, REACTORS_LIMIT_MAX),
    after: optionalUser(reactorsAfter, 'reactors_after'),
    reactionKey: reactionKey === '' ? undefined : reactionKey,
  };
}
