/** The decoder and encoder of each media type of the join route. */
import type { MediaType } from '../codec/error-response.js';
import { decodeJoinRequestJson, encodeJoinResponseJson } from '../codec/join-json.js';
import { decodeJoinRequestMsgpack, encodeJoinResponseMsgpack } from '../codec/join-msgpack.js';
import type { JoinOutcome } from '../codec/join-outcome.js';
import { decodeJoinRequest, type JoinRequest } from '../codec/join-request.js';
import { encodeJoinResponse } from '../codec/join-response.js';

export interface MediaCodec {
  /** Throws a coded error when the request cannot be read as a whole; owns the bytes from then on. */
  decode(bytes: Buffer): JoinRequest;
  /** The response's bytes; may be a view on the outcome's own buffer. */
  encode(outcome: JoinOutcome): Buffer;
}

export const MEDIA_CODECS: Readonly<Record<MediaType, MediaCodec>> = {
  'application/x-protobuf': { decode: decodeJoinRequest, encode: encodeJoinResponse },
  'application/msgpack': { decode: decodeJoinRequestMsgpack, encode: encodeJoinResponseMsgpack },
  'application/json': { decode: decodeJoinRequestJson, encode: encodeJoinResponseJson },
};
