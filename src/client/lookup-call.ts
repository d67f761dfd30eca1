/** Where a message_id lies, over the socket (R2.2): LookupRequest and LookupResponse by hand. */
import { encodeFields } from '../codec/field-sink.js';
import { CONTRACT_VERSION } from '../codec/join-request.js';
import { tagOf, WireReader, WireType } from '../codec/wire.js';
import type { Message } from './call.js';
import { checkAmount } from './join-request.js';
import type { ResultName } from './join-result.js';
import { postMessage } from './post-message.js';
import { protocolError } from './protocol-error.js';
import { hasBody, leftMs, messageIdBytes, responseId, settledName, tenantBytes } from './request-fields.js';

export interface LookupRequest {
  /** uuid: 16 bytes in network order, or its text form. */
  readonly tenantId: Uint8Array | string;
  /** u128: 16 bytes big-endian, or 32 hexadecimal digits. */
  readonly messageId: Uint8Array | string;
  /** Asks for the body too. */
  readonly wantBody?: boolean | undefined;
  readonly deadlineMs?: number | undefined;
}

export interface MessagePlace {
  /** Where the index says that it lies; undefined when it has no such message_id. */
  readonly at: MessageCoordinates | undefined;
  /**
   * What lies there, as in a join: NOT_FOUND or MISMATCH where the index and the messages differ, and NOT_FOUND where the
   * index has nothing.
   */
  readonly result: ResultName;
  /** The encoded MessageBody, a view on the response; where it was asked for, with OK and RECALLED only. */
  readonly body: Uint8Array | undefined;
}

export interface MessageCoordinates {
  /** uuid, 16 bytes in network order. */
  readonly conversationId: Uint8Array;
  readonly seq: bigint;
  readonly seqBucket: bigint;
}

/** The request and how its response is read. `deadlineAtMs`: on performance.now(), for the sidecar. */
export function lookupMessage(request: LookupRequest, deadlineAtMs: number): Message<MessagePlace> {
  const tenantId = tenantBytes(request.tenantId);
  const messageId = messageIdBytes(request.messageId, 'messageId');
  const wantBody = request.wantBody === true;
  checkAmount(request.deadlineMs, 'deadlineMs');
  return postMessage(
    '/v1/lookup',
    () =>
      encodeFields(leftMs(deadlineAtMs), (sink, deadlineMs) => {
        sink.varint(1, CONTRACT_VERSION);
        sink.bytes(2, tenantId);
        sink.bytes(3, messageId);
        sink.varint(4, deadlineMs);
        if (wantBody) sink.varint(5, 1);
      }),
    (bytes) => readPlace(bytes, wantBody),
  );
}

function readPlace(bytes: Uint8Array, wantBody: boolean): MessagePlace {
  const reader = new WireReader(bytes);
  const place = { seq: 0n, seqBucket: 0n, found: false, code: 0 };
  let conversationId: Uint8Array = new Uint8Array(0);
  let body: Uint8Array | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === tagOf(2, WireType.BYTES)) body = reader.view();
    else if (tag === tagOf(3, WireType.VARINT)) place.code = reader.uint32();
    else if (tag === tagOf(4, WireType.VARINT)) place.found = reader.uint32() !== 0;
    else if (tag === tagOf(5, WireType.BYTES)) conversationId = reader.view();
    else if (tag === tagOf(6, WireType.VARINT)) place.seq = uint64(reader);
    else if (tag === tagOf(7, WireType.VARINT)) place.seqBucket = uint64(reader);
    else reader.skip(tag);
  }
  const { code, found, seq, seqBucket } = place;
  const result = settledName(code);
  if ((wantBody && hasBody(code)) !== (body !== undefined)) throw protocolError('a body where there is none');
  const at = found ? { conversationId: responseId(conversationId), seq, seqBucket } : undefined;
  return { at, result, body };
}

function uint64(reader: WireReader): bigint {
  reader.uint64();
  return reader.value64;
}
