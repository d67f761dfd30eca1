/**
 * Parses the head of the sidecar's HTTP/1.1 responses: a status line, headers, and a Content-Length that says all
 * about the body. Deliberately no general HTTP parser: chunked bodies, interim responses, folded headers and bare
 * line feeds are not sent by the sidecar, so whoever sends them is not the sidecar (→ CLIENT_PROTOCOL, and the
 * connection is dropped). Pure and synchronous; nothing is kept from the bytes.
 */
import { protocolError } from './protocol-error.js';

export interface ResponseHead {
  readonly status: number;
  /** Bytes of the body, at most what fits a safe integer; the caller has its own bound. */
  readonly contentLength: number;
  /** The media type as sent, lower-cased, without parameters; '' when there is none. */
  readonly contentType: string;
  /** True when the sidecar closes the connection behind this response. */
  readonly close: boolean;
}

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LENGTH_DIGITS_MAX = 15;
/** `HTTP/1.1 200 ` and its reason phrase, which may be empty. */
const STATUS_LINE = Buffer.from('HTTP/1.1 ', 'latin1');
const CONTENT_LENGTH = Buffer.from('content-length', 'latin1');
const CONTENT_TYPE = Buffer.from('content-type', 'latin1');
const CONNECTION = Buffer.from('connection', 'latin1');
const TRANSFER_ENCODING = Buffer.from('transfer-encoding', 'latin1');

/** Offset behind the empty line that ends a head lying at the start of `bytes`, or −1; `from` = bytes searched before. */
export function findHeadEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let at = Math.max(3, from); at < to; at++) {
    if (bytes[at] === LF && bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR)
      return at + 1;
  }
  return -1;
}

/** Parses the head in bytes[0, end), its empty line included. Throws CLIENT_PROTOCOL. */
export function parseResponseHead(bytes: Uint8Array, end: number): ResponseHead {
  const status = parseStatus(bytes);
  let contentLength = -1;
  let contentType = '';
  let close = false;
  let at = lineEnd(bytes, STATUS_LINE.length + 3, end) + 2;
  while (at < end - 2) {
    const colon = nameEnd(bytes, at, end);
    const stop = lineEnd(bytes, colon + 1, end);
    if (isName(bytes, at, colon, CONTENT_LENGTH)) {
      if (contentLength !== -1) throw protocolError('two lengths');
      contentLength = parseLength(headerText(bytes, colon + 1, stop));
    } else if (isName(bytes, at, colon, CONTENT_TYPE)) {
      contentType = mediaType(headerText(bytes, colon + 1, stop));
    } else if (isName(bytes, at, colon, CONNECTION)) {
      close ||= headerText(bytes, colon + 1, stop).toLowerCase() === 'close';
    } else if (isName(bytes, at, colon, TRANSFER_ENCODING)) {
      throw protocolError('a transfer encoding');
    }
    at = stop + 2;
  }
  if (contentLength === -1) throw protocolError(`status ${status} without a length`);
  return { status, contentLength, contentType, close };
}

/** Three digits behind `HTTP/1.1 `, 200 to 599: interim responses are never sent. */
function parseStatus(bytes: Uint8Array): number {
  for (let index = 0; index < STATUS_LINE.length; index++) {
    if (bytes[index] !== STATUS_LINE[index]) throw protocolError('no HTTP/1.1 status line');
  }
  let status = 0;
  for (let index = STATUS_LINE.length; index < STATUS_LINE.length + 3; index++) {
    const byte = bytes[index] as number;
    if (byte < DIGIT_0 || byte > DIGIT_9) throw protocolError('no status of three digits');
    status = status * 10 + byte - DIGIT_0;
  }
  const behind = bytes[STATUS_LINE.length + 3];
  if ((behind !== SPACE && behind !== CR) || status < 200 || status > 599) throw protocolError('status');
  return status;
}

/** Offset of the carriage return that ends the line; control characters other than a tab are refused. */
function lineEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte === CR && bytes[at + 1] === LF) return at;
    if ((byte < SPACE && byte !== TAB) || byte === 0x7f)
      throw protocolError('a control character in a header');
    at++;
  }
  throw protocolError('a header without an end');
}

/** Offset of the colon behind a header's name; a name is visible ASCII without spaces (so no folded lines). */
function nameEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== COLON) {
    const byte = bytes[at] as number;
    if (byte <= SPACE || byte >= 0x7f) throw protocolError('a malformed header name');
    at++;
  }
  if (at === from || at === end) throw protocolError('a header without a name');
  return at;
}

function isName(bytes: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
  if (to - from !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    const byte = bytes[from + index] as number;
    const lower = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (lower !== name[index]) return false;
  }
  return true;
}

function headerText(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] as number);
  return text.trim();
}

function mediaType(text: string): string {
  const semicolon = text.indexOf(';');
  return (semicolon === -1 ? text : text.slice(0, semicolon)).trim().toLowerCase();
}

function parseLength(text: string): number {
  if (text.length === 0 || text.length > LENGTH_DIGITS_MAX) throw protocolError('an unusable length');
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < DIGIT_0 || code > DIGIT_9) throw protocolError('an unusable length');
    length = length * 10 + code - DIGIT_0;
  }
  return length;
}
