/**
 * The wire contract read from proto/ by protobufjs: an encoder and decoder that share nothing with the code under test.
 */
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const root = protobuf.loadSync(fileURLToPath(new URL('../../proto/mailjoin.proto', import.meta.url)));
const JoinRequestType = root.lookupType('mailjoin.v1.JoinRequest');
const JoinResponseType = root.lookupType('mailjoin.v1.JoinResponse');
const MessageBodyType = root.lookupType('mailjoin.v1.MessageBody');
const ErrorType = root.lookupType('mailjoin.v1.Error');

export interface WireEntry {
  conversationId: Uint8Array;
  /** Decimal text. */
  conversationSeq: string;
  messageId: Uint8Array;
  mailboxSeq: string;
  floorLastActivityId: Uint8Array;
  floorSummaryVersion: string;
  inlineBody?: Uint8Array;
}

export interface WireRequest {
  contractVersion: number;
  kind: number;
  tenantId: Uint8Array;
  entries: WireEntry[];
  deadlineMs: number;
  responseBytesMax: string;
  wantReceipt: boolean;
}

export function decodeRequest(bytes: Uint8Array): WireRequest {
  const message = JoinRequestType.decode(bytes);
  // The shape that toObject gives with these options; it is protobufjs' own, typed as a bag.
  return JoinRequestType.toObject(message, { longs: String, defaults: true, arrays: true }) as WireRequest;
}

export interface WireResult {
  result: number;
  body?: number;
  reason?: number;
}

/** A JoinResponse whose bodies are encoded MessageBody messages. */
export function encodeResponse(
  bodies: readonly Uint8Array[],
  results: readonly WireResult[],
  receipt?: Readonly<Record<string, number>>,
): Buffer {
  const message = JoinResponseType.fromObject({
    contractVersion: 1,
    bodies: bodies.map((body) => MessageBodyType.decode(body)),
    results,
    ...(receipt === undefined ? {} : { receipt }),
  });
  return Buffer.from(JoinResponseType.encode(message).finish());
}

/** A MessageBody of this id with this payload. */
export function encodeBody(messageId: Uint8Array, payload: Uint8Array): Uint8Array {
  return MessageBodyType.encode(MessageBodyType.create({ messageId, payload })).finish();
}

export function encodeErrorBody(
  code: string,
  message: string,
  retryable: boolean,
  retryAfterMs: number,
): Buffer {
  return Buffer.from(ErrorType.encode(ErrorType.create({ code, message, retryable, retryAfterMs })).finish());
}

/** A whole HTTP response as the sidecar sends it. */
export function httpResponse(
  body: Uint8Array,
  status = '200 OK',
  contentType = 'application/x-protobuf',
): Buffer {
  const head = `HTTP/1.1 ${status}\r\nContent-Type: ${contentType}\r\nDate: x\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** A u128 id as 16 bytes, big-endian. */
export function idOf(value: number): Buffer {
  const id = Buffer.alloc(16);
  id.writeUInt32BE(value, 12);
  return id;
}

/** The honest answer to a request: every entry OK, with a body whose payload names its message. */
export function answer(request: WireRequest): Buffer {
  const bodies = request.entries.map(({ messageId }) => encodeBody(messageId, messageId));
  return httpResponse(
    encodeResponse(
      bodies,
      bodies.map((_, index) => ({ result: 1, body: index + 1 })),
    ),
  );
}
