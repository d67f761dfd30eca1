/** One message in detail over the socket (R4.5): MessageRequest and MessageResponse by hand. */
import { encodeFields } from '../codec/field-sink.js';
import { CONTRACT_VERSION } from '../codec/join-request.js';
import { tagOf, WireReader, WireType } from '../codec/wire.js';
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES, parseIdHex, parseUuid } from '../domain/ids.js';
import { DEADLINE_MS_MAX } from '../domain/limits.js';
import { ResultCode, resultName } from '../domain/result.js';
import { isSeq } from '../domain/seq.js';
import type { Message } from './call.js';
import { checkAmount } from './join-request.js';
import type { ResultName } from './join-result.js';
import { postMessage } from './post-message.js';
import { protocolError } from './protocol-error.js';

export interface MessageRequest {
  /** uuid: 16 bytes in network order, or its text form. */
  readonly tenantId: Uint8Array | string;
  readonly conversationId: Uint8Array | string;
  readonly seq: bigint;
  /** u128: 16 bytes big-endian, or 32 hexadecimal digits. */
  readonly messageId: Uint8Array | string;
  /** Who asks: with it `selfReactionKeys` is read. */
  readonly userId?: Uint8Array | string | undefined;
  readonly deadlineMs?: number | undefined;
}

export interface MessageDetail {
  /** As in a join. */
  readonly result: ResultName;
  /** The encoded MessageBody, a view on the response; only with OK and RECALLED. */
  readonly body: Uint8Array | undefined;
  /** What the asking user reacted with. */
  readonly selfReactionKeys: readonly string[];
}

/** The request and how its response is read. `deadlineAtMs`: on performance.now(), for the sidecar. */
export function detailMessage(request: MessageRequest, deadlineAtMs: number): Message<MessageDetail> {
  const tenantId = idOf(request.tenantId, parseUuid);
  if (tenantId === undefined) throw new MailjoinError('TENANT_MISSING');
  const conversationId = required(idOf(request.conversationId, parseUuid), 'conversationId');
  const messageId = required(idOf(request.messageId, parseIdHex), 'messageId');
  const { seq, userId } = request;
  const user = userId === undefined ? undefined : required(idOf(userId, parseUuid), 'userId');
  if (typeof seq !== 'bigint') throw new TypeError('seq must be a bigint');
  if (!isSeq(seq)) throw new MailjoinError('SEQ_RANGE', 'seq');
  checkAmount(request.deadlineMs, 'deadlineMs');
  return postMessage(
    '/v1/message',
    () => {
      const leftMs = Math.floor(deadlineAtMs - performance.now());
      return encodeFields(Math.min(Math.max(1, leftMs), DEADLINE_MS_MAX), (sink, deadlineMs) => {
        sink.varint(1, CONTRACT_VERSION);
        sink.bytes(2, tenantId);
        sink.bytes(3, conversationId);
        sink.varint(4, seq);
        sink.bytes(5, messageId);
        sink.bytes(6, user);
        sink.varint(7, deadlineMs);
      });
    },
    readDetail,
  );
}

function idOf(
  id: Uint8Array | string,
  parse: (text: string) => Uint8Array | undefined,
): Uint8Array | undefined {
  const bytes = typeof id === 'string' ? parse(id) : id;
  return bytes?.length === ID_BYTES ? bytes : undefined;
}

function required(id: Uint8Array | undefined, name: string): Uint8Array {
  if (id === undefined) throw new MailjoinError('REQUEST_MALFORMED', `${name} has no 16 bytes`);
  return id;
}

function readDetail(bytes: Uint8Array): MessageDetail {
  const reader = new WireReader(bytes);
  const selfReactionKeys: string[] = [];
  let body: Uint8Array | undefined;
  let code = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === tagOf(2, WireType.BYTES)) body = reader.view();
    else if (tag === tagOf(3, WireType.VARINT)) code = reader.uint32();
    else if (tag === tagOf(4, WireType.BYTES)) selfReactionKeys.push(new TextDecoder().decode(reader.view()));
    else reader.skip(tag);
  }
  const hasBody = code === ResultCode.OK || code === ResultCode.RECALLED;
  if (code === ResultCode.PENDING || hasBody !== (body !== undefined)) {
    throw protocolError('a message that is not settled');
  }
  // A code that this client does not know reads as UNAVAILABLE (the contract's compatibility rule).
  const result = code > ResultCode.INVALID ? 'UNAVAILABLE' : (resultName(code) as ResultName);
  return { result, body, selfReactionKeys };
}
