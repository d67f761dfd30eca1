/** One message in detail over the socket (R4.5): MessageRequest and MessageResponse by hand. */
import { bigintOf, bytesOf, textOf } from '../codec/field-reading.js';
import { encodeFields } from '../codec/field-sink.js';
import { CONTRACT_VERSION } from '../codec/join-request.js';
import { tagOf, WireReader, WireType } from '../codec/wire.js';
import { MailjoinError } from '../domain/errors.js';
import { isSeq } from '../domain/seq.js';
import type { Message } from './call.js';
import { checkAmount } from './join-request.js';
import type { ResultName } from './join-result.js';
import { postMessage } from './post-message.js';
import { protocolError } from './protocol-error.js';
import {
  checkCount,
  hasBody,
  leftMs,
  messageIdBytes,
  optionalUuidBytes,
  responseId,
  settledName,
  tenantBytes,
  uuidBytes,
} from './request-fields.js';

export interface MessageRequest {
  /** uuid: 16 bytes in network order, or its text form. */
  readonly tenantId: Uint8Array | string;
  readonly conversationId: Uint8Array | string;
  readonly seq: bigint;
  /** u128: 16 bytes big-endian, or 32 hexadecimal digits. */
  readonly messageId: Uint8Array | string;
  /** Who asks: with it `selfReactionKeys` is read. */
  readonly userId?: Uint8Array | string | undefined;
  /** Asks who reacted: a page of `reactors`. */
  readonly reactors?: ReactorsRequest | undefined;
  readonly deadlineMs?: number | undefined;
}

export interface ReactorsRequest {
  /** 1 to 200; 50 unless said. */
  readonly limit?: number | undefined;
  /** `nextReactorsAfter` of the former page; undefined = the first page. */
  readonly after?: Uint8Array | string | undefined;
  /** Only who reacted with this. */
  readonly reactionKey?: string | undefined;
}

export interface Reactor {
  /** uuid, 16 bytes in network order. */
  readonly userId: Uint8Array;
  readonly reactionKey: string;
  /** Milliseconds since 1970 UTC. */
  readonly createdAtMs: bigint;
}

export interface MessageDetail {
  /** As in a join. */
  readonly result: ResultName;
  /** The encoded MessageBody, a view on the response; only with OK and RECALLED. */
  readonly body: Uint8Array | undefined;
  /** What the asking user reacted with. */
  readonly selfReactionKeys: readonly string[];
  /** Who reacted, where that was asked for, in an order of the store's own. */
  readonly reactors: readonly Reactor[];
  /** Where the next page begins; a page may be short, or empty, and have it all the same. Undefined: there are no more. */
  readonly nextReactorsAfter: Uint8Array | undefined;
}

/** The request and how its response is read. `deadlineAtMs`: on performance.now(), for the sidecar. */
export function detailMessage(request: MessageRequest, deadlineAtMs: number): Message<MessageDetail> {
  const tenantId = tenantBytes(request.tenantId);
  const conversationId = uuidBytes(request.conversationId, 'conversationId');
  const messageId = messageIdBytes(request.messageId, 'messageId');
  const { seq, reactors } = request;
  const userId = optionalUuidBytes(request.userId, 'userId');
  const after = optionalUuidBytes(reactors?.after, 'reactors.after');
  if (typeof seq !== 'bigint') throw new TypeError('seq must be a bigint');
  if (!isSeq(seq)) throw new MailjoinError('SEQ_RANGE', 'seq');
  checkAmount(request.deadlineMs, 'deadlineMs');
  checkCount(reactors?.limit, 'reactors.limit');
  return postMessage(
    '/v1/message',
    () =>
      encodeFields(leftMs(deadlineAtMs), (sink, deadlineMs) => {
        sink.varint(1, CONTRACT_VERSION);
        sink.bytes(2, tenantId);
        sink.bytes(3, conversationId);
        sink.varint(4, seq);
        sink.bytes(5, messageId);
        sink.bytes(6, userId);
        sink.varint(7, deadlineMs);
        if (reactors === undefined) return;
        sink.varint(8, 1);
        sink.varint(9, reactors.limit);
        sink.bytes(10, after);
        sink.text(11, reactors.reactionKey);
      }),
    readDetail,
  );
}

function readDetail(bytes: Uint8Array): MessageDetail {
  const reader = new WireReader(bytes);
  const selfReactionKeys: string[] = [];
  const reactors: Reactor[] = [];
  let nextReactorsAfter: Uint8Array | undefined;
  let body: Uint8Array | undefined;
  let code = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === tagOf(2, WireType.BYTES)) body = reader.view();
    else if (tag === tagOf(3, WireType.VARINT)) code = reader.uint32();
    else if (tag === tagOf(4, WireType.BYTES)) selfReactionKeys.push(textOf(reader, tag));
    else if (tag === tagOf(5, WireType.BYTES)) reactors.push(readReactor(reader.view()));
    else if (tag === tagOf(6, WireType.BYTES)) nextReactorsAfter = responseId(reader.view());
    else reader.skip(tag);
  }
  const result = settledName(code);
  if (hasBody(code) !== (body !== undefined)) throw protocolError('a message that is not settled');
  return { result, body, selfReactionKeys, reactors, nextReactorsAfter };
}

function readReactor(bytes: Uint8Array): Reactor {
  const reader = new WireReader(bytes);
  let userId: Uint8Array = new Uint8Array(0);
  let reactionKey = '';
  let createdAtMs = 0n;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag >>> 3 === 1) userId = bytesOf(reader, tag);
    else if (tag >>> 3 === 2) reactionKey = textOf(reader, tag);
    else if (tag >>> 3 === 3) createdAtMs = BigInt.asIntN(64, bigintOf(reader, tag));
    else reader.skip(tag);
  }
  return { userId: responseId(userId), reactionKey, createdAtMs };
}
