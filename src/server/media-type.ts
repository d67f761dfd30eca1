/**
 * The three media types of the join route and how a request chooses among them. Pure.
 *
 * The request's own type is its content-type; the response's is the first of the three that `accept` names, else
 * the request's. A content-type that is none of them is refused with MEDIA_TYPE (415).
 */
import type { MediaType } from '../codec/error-response.js';

const BY_NAME: Readonly<Record<string, MediaType>> = {
  'application/x-protobuf': 'application/x-protobuf',
  'application/protobuf': 'application/x-protobuf',
  'application/msgpack': 'application/msgpack',
  'application/x-msgpack': 'application/msgpack',
  'application/json': 'application/json',
};

/** The media type that a content-type header names, parameters aside; undefined for any other. */
export function requestMediaType(contentType: string): MediaType | undefined {
  return lookUp(contentType);
}

/** The media type to answer in: what `accept` asks for, else the request's, else JSON, which people can read. */
export function responseMediaType(accept: string, request: MediaType | undefined): MediaType {
  if (accept !== '' && accept !== '*/*') {
    for (const range of accept.split(',')) {
      const media = lookUp(range);
      if (media !== undefined) return media;
    }
  }
  return request ?? 'application/json';
}

function lookUp(headerValue: string): MediaType | undefined {
  const semicolon = headerValue.indexOf(';');
  const name = (semicolon < 0 ? headerValue : headerValue.slice(0, semicolon)).trim();
  const exact = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  if (exact !== undefined) return exact;
  const lower = name.toLowerCase();
  return Object.hasOwn(BY_NAME, lower) ? BY_NAME[lower] : undefined;
}
