/** The decoder and encoder of each media type, by route. */
import {
  type DetailRequest,
  decodeDetailRequest,
  decodeDetailRequestJson,
  decodeDetailRequestMsgpack,
} from '../codec/detail-request.js';
import {
  type DetailOutcome,
  encodeDetailResponse,
  encodeDetailResponseJson,
  encodeDetailResponseMsgpack,
} from '../codec/detail-response.js';
import type { MediaType } from '../codec/error-response.js';
import {
  decodeHistoryRequestJson,
  decodeHistoryRequestMsgpack,
  encodeHistoryResponseJson,
  encodeHistoryResponseMsgpack,
} from '../codec/history-loose.js';
import type { HistoryOutcome } from '../codec/history-outcome.js';
import { decodeHistoryRequest, type HistoryRequest } from '../codec/history-request.js';
import { encodeHistoryResponse } from '../codec/history-response.js';
import { decodeJoinRequestJson, encodeJoinResponseJson } from '../codec/join-json.js';
import { decodeJoinRequestMsgpack, encodeJoinResponseMsgpack } from '../codec/join-msgpack.js';
import type { JoinOutcome } from '../codec/join-outcome.js';
import { decodeJoinRequest, type JoinRequest } from '../codec/join-request.js';
import { encodeJoinResponse } from '../codec/join-response.js';
import {
  decodeLookupRequest,
  decodeLookupRequestJson,
  decodeLookupRequestMsgpack,
  encodeLookupResponse,
  encodeLookupResponseJson,
  encodeLookupResponseMsgpack,
  type LookupOutcome,
  type LookupRequest,
} from '../codec/lookup.js';

export interface MediaCodec<Request, Outcome> {
  /** Throws a coded error when the request cannot be read as a whole; owns the bytes from then on. */
  decode(bytes: Buffer): Request;
  /** The response's bytes; may be a view on the outcome's own buffer. */
  encode(outcome: Outcome): Buffer;
}

type MediaCodecs<Request, Outcome> = Readonly<Record<MediaType, MediaCodec<Request, Outcome>>>;

export const MEDIA_CODECS: MediaCodecs<JoinRequest, JoinOutcome> = {
  'application/x-protobuf': { decode: decodeJoinRequest, encode: encodeJoinResponse },
  'application/msgpack': { decode: decodeJoinRequestMsgpack, encode: encodeJoinResponseMsgpack },
  'application/json': { decode: decodeJoinRequestJson, encode: encodeJoinResponseJson },
};

export const HISTORY_CODECS: MediaCodecs<HistoryRequest, HistoryOutcome> = {
  'application/x-protobuf': { decode: decodeHistoryRequest, encode: encodeHistoryResponse },
  'application/msgpack': { decode: decodeHistoryRequestMsgpack, encode: encodeHistoryResponseMsgpack },
  'application/json': { decode: decodeHistoryRequestJson, encode: encodeHistoryResponseJson },
};

export const DETAIL_CODECS: MediaCodecs<DetailRequest, DetailOutcome> = {
  'application/x-protobuf': { decode: decodeDetailRequest, encode: encodeDetailResponse },
  'application/msgpack': { decode: decodeDetailRequestMsgpack, encode: encodeDetailResponseMsgpack },
  'application/json': { decode: decodeDetailRequestJson, encode: encodeDetailResponseJson },
};

export const LOOKUP_CODECS: MediaCodecs<LookupRequest, LookupOutcome> = {
  'application/x-protobuf': { decode: decodeLookupRequest, encode: encodeLookupResponse },
  'application/msgpack': { decode: decodeLookupRequestMsgpack, encode: encodeLookupResponseMsgpack },
  'application/json': { decode: decodeLookupRequestJson, encode: encodeLookupResponseJson },
};
