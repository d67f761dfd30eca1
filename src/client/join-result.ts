/**
 * What a join gives back, decoded by hand. Bodies are never copied: they are views on the response's buffer, which
 * belongs to the result alone (no pool, nothing is written into it any more), made when they are first asked for.
 */

import { CONTRACT_VERSION } from '../codec/join-request.js';
import { type Receipt, readReceipt, sumReceipts } from '../codec/receipt.js';
import { tagOf, WireReader, WireType } from '../codec/wire.js';
import { ID_BYTES } from '../domain/ids.js';
import { invalidReasonName, ResultCode, resultName } from '../domain/result.js';
import { asProtocolError, protocolError } from './protocol-error.js';

const { VARINT, BYTES } = WireType;
const TAG = {
  CONTRACT_VERSION: tagOf(1, VARINT),
  BODIES: tagOf(2, BYTES),
  RESULTS: tagOf(3, BYTES),
  RECEIPT: tagOf(4, BYTES),
} as const;
const RESULT_TAG = { RESULT: tagOf(1, VARINT), BODY: tagOf(2, VARINT), REASON: tagOf(3, VARINT) } as const;
const MESSAGE_ID_TAG = tagOf(1, BYTES);

/** The settled result of an entry; the sidecar never sends PENDING. */
export type ResultName = Exclude<keyof typeof ResultCode, 'PENDING'>;

/** What became of one entry. */
export class EntryOutcome {
  /** A code that this client does not know reads as UNAVAILABLE (the contract's compatibility rule). */
  readonly result: ResultName;
  /** Why the entry is INVALID; undefined otherwise. */
  readonly invalidReason: string | undefined;
  private readonly frame: ResponseFrame | undefined;
  private readonly bodyIndex: number;
  private readonly inlineBody: Uint8Array | undefined;

  constructor(
    result: ResultName,
    frame: ResponseFrame | undefined,
    bodyIndex: number,
    inlineBody: Uint8Array | undefined,
    invalidReason: string | undefined,
  ) {
    this.result = result;
    this.frame = frame;
    this.bodyIndex = bodyIndex;
    this.inlineBody = inlineBody;
    this.invalidReason = invalidReason;
  }

  /** True when asking again for this entry can bring another result. */
  get retryable(): boolean {
    return RETRYABLE.has(this.result);
  }

  /**
   * The encoded MessageBody, ready to be placed into a frame unchanged; RECALLED's is one without content (D12), an
   * INLINE entry's are the caller's own bytes. Undefined for every other result. Entries that name the same message
   * share one view.
   */
  get body(): Uint8Array | undefined {
    return this.frame === undefined ? this.inlineBody : this.frame.body(this.bodyIndex);
  }
}

const RETRYABLE: ReadonlySet<ResultName> = new Set(['NOT_YET', 'UNAVAILABLE', 'DEADLINE', 'DEFERRED']);

/** The bodies of one response, as places in its bytes. */
class ResponseFrame {
  readonly bytes: Uint8Array;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  private readonly views: (Uint8Array | undefined)[] = [];

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get count(): number {
    return this.starts.length;
  }

  add(start: number, end: number): void {
    this.starts.push(start);
    this.ends.push(end);
    this.views.push(undefined);
  }

  body(index: number): Uint8Array {
    const known = this.views[index];
    if (known !== undefined) return known;
    const start = this.starts[index] as number;
    const { buffer, byteOffset } = this.bytes;
    const view = new Uint8Array(buffer, byteOffset + start, (this.ends[index] as number) - start);
    this.views[index] = view;
    return view;
  }
}

/** A decoded response: what one request brought. */
export class DecodedResponse {
  readonly frame: ResponseFrame;
  /** ResultCode and body (from 1; 0 = none) and InvalidReason of each entry sent, in order. */
  readonly codes: Uint8Array;
  readonly bodies: Uint32Array;
  readonly reasons: Uint8Array;
  receipt: Receipt | undefined;

  constructor(bytes: Uint8Array, entryCount: number) {
    this.frame = new ResponseFrame(bytes);
    this.codes = new Uint8Array(entryCount);
    this.bodies = new Uint32Array(entryCount);
    this.reasons = new Uint8Array(entryCount);
  }
}

/** The result of a join, in the order of the request's entries. */
export class JoinResult {
  /** As many as there were entries. */
  readonly entries: readonly EntryOutcome[];
  /** What the batch cost, summed over its requests; undefined unless asked for. */
  readonly receipt: Receipt | undefined;
  /** Requests that it took: above 1 only with `repeatDeferred`. */
  readonly rounds: number;
  private readonly frames: readonly ResponseFrame[];

  constructor(entries: readonly EntryOutcome[], responses: readonly DecodedResponse[]) {
    this.entries = entries;
    this.frames = responses.map((response) => response.frame);
    this.receipt = receiptOf(responses);
    this.rounds = responses.length;
  }

  /** The distinct bodies that the sidecar sent, each once, however many entries name it. */
  get bodies(): readonly Uint8Array[] {
    return this.frames.flatMap((frame) => frame.starts.map((_, index) => frame.body(index)));
  }
}

/**
 * Decodes a JoinResponse to a request of `entryCount` entries. Throws CLIENT_PROTOCOL for anything but one settled
 * result per entry, with a body where and only where there must be one.
 */
export function decodeJoinResponse(bytes: Uint8Array, entryCount: number): DecodedResponse {
  const response = new DecodedResponse(bytes, entryCount);
  try {
    const settled = readResponse(new WireReader(bytes), response);
    if (settled !== entryCount) throw protocolError(`${settled} results for ${entryCount} entries`);
  } catch (error) {
    throw asProtocolError(error);
  }
  for (let index = 0; index < entryCount; index++) checkResult(response, index);
  return response;
}

function readResponse(reader: WireReader, response: DecodedResponse): number {
  const { frame, codes } = response;
  const end = reader.end;
  let settled = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === TAG.BODIES) {
      const length = reader.length();
      frame.add(reader.at, reader.at + length);
      reader.at += length;
    } else if (tag === TAG.RESULTS) {
      if (settled === codes.length) throw protocolError('more results than entries');
      const length = reader.length();
      reader.end = reader.at + length;
      readResult(reader, response, settled++);
      reader.end = end;
    } else if (tag === TAG.RECEIPT) {
      const length = reader.length();
      reader.end = reader.at + length;
      response.receipt = readReceipt(reader);
      reader.end = end;
    } else if (tag === TAG.CONTRACT_VERSION) {
      if (reader.uint32() !== CONTRACT_VERSION) throw protocolError('another contract version');
    } else reader.skip(tag);
  }
  return settled;
}

function readResult(reader: WireReader, response: DecodedResponse, index: number): void {
  let code = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === RESULT_TAG.RESULT) code = reader.uint32();
    else if (tag === RESULT_TAG.BODY) response.bodies[index] = reader.uint32();
    else if (tag === RESULT_TAG.REASON) response.reasons[index] = Math.min(reader.uint32(), 0xff);
    else reader.skip(tag);
  }
  response.codes[index] = code > ResultCode.INVALID ? ResultCode.UNAVAILABLE : code;
}

function checkResult({ frame, codes, bodies }: DecodedResponse, index: number): void {
  const code = codes[index] as number;
  const body = bodies[index] as number;
  if (code === ResultCode.PENDING) throw protocolError('an entry that is not settled');
  const hasBody = code === ResultCode.OK || code === ResultCode.RECALLED;
  if (hasBody !== body > 0 || body > frame.count) throw protocolError('a result whose body is not there');
}

/**
 * Holds every body against the message that its entry asked for, so that a response can never pass as the answer to
 * another request, whatever went wrong on the way (B39). `requestBytes` and `messageAt` are the encoder's.
 */
export function checkMessageIds(
  response: DecodedResponse,
  requestBytes: Uint8Array,
  messageAt: Int32Array,
): void {
  const { frame, bodies } = response;
  const { bytes } = frame;
  for (let index = 0; index < bodies.length; index++) {
    const body = bodies[index] as number;
    if (body === 0) continue;
    const at = messageIdAt(frame, body - 1);
    const askedAt = messageAt[index] as number;
    let same = at !== -1 && askedAt !== -1;
    for (let byte = 0; same && byte < ID_BYTES; byte++)
      same = bytes[at + byte] === requestBytes[askedAt + byte];
    if (!same) throw protocolError('the body of another message');
  }
}

/** Offset of a body's message_id, or −1. It is the first field of the bodies that are sent today. */
function messageIdAt(frame: ResponseFrame, index: number): number {
  const { bytes, starts, ends } = frame;
  const start = starts[index] as number;
  const end = ends[index] as number;
  if (bytes[start] === MESSAGE_ID_TAG && bytes[start + 1] === ID_BYTES && start + 2 + ID_BYTES <= end)
    return start + 2;
  try {
    const reader = new WireReader(bytes, start, end);
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
      if (tag !== MESSAGE_ID_TAG) reader.skip(tag);
      else return reader.length() === ID_BYTES ? reader.at : -1;
    }
  } catch (error) {
    throw asProtocolError(error);
  }
  return -1;
}

/** The outcome of the `index`-th entry of a response; `inlineBody` is what the caller sent with that entry. */
export function outcomeOf(
  response: DecodedResponse,
  index: number,
  inlineBody: Uint8Array | undefined,
): EntryOutcome {
  const code = response.codes[index] as number;
  // Every code is one of ResultCode's and none is PENDING: readResult and checkResult saw to it.
  const result = resultName(code) as ResultName;
  const body = response.bodies[index] as number;
  if (body > 0) return new EntryOutcome(result, response.frame, body - 1, undefined, undefined);
  const reason =
    code === ResultCode.INVALID ? invalidReasonName(response.reasons[index] as number) : undefined;
  return new EntryOutcome(result, undefined, 0, code === ResultCode.INLINE ? inlineBody : undefined, reason);
}

function receiptOf(responses: readonly DecodedResponse[]): Receipt | undefined {
  const receipts = responses.flatMap(({ receipt }) => (receipt === undefined ? [] : [receipt]));
  return receipts.length <= 1 ? receipts[0] : sumReceipts(receipts);
}
