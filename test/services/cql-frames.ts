/**
 * As much of the CQL native protocol (v3, v4) as a proxy needs to know which statement a frame is about.
 *
 *     frame:  version 1 | flags 1 | stream 2 BE | opcode 1 | length 4 BE | body
 *
 * An EXECUTE names a prepared statement by id; the id's text is learned from the reply to its PREPARE.
 */
import { strict as assert } from 'node:assert';

export const HEADER_BYTES = 9;
/** The protocol's own bound of a frame. */
const FRAME_BYTES_MAX = 256 * 1024 * 1024;
const RESPONSE_BIT = 0x80;
const FLAG_COMPRESSED = 0x01;
const RESULT_PREPARED = 4;
/** Ids remembered; a test prepares a few dozen statements. */
const PREPARED_MAX = 10_000;

export const Opcode = {
  ERROR: 0x00,
  QUERY: 0x07,
  RESULT: 0x08,
  PREPARE: 0x09,
  EXECUTE: 0x0a,
  BATCH: 0x0d,
} as const;

export interface CqlRequest {
  readonly opcode: number;
  /** What the reply will carry too; unique among the requests in flight on a connection. */
  readonly stream: number;
  /** Number of the connection, counted from 1 in the order of their arrival. */
  readonly connection: number;
  /** Text of the statement; of a batch the first one's; empty where there is none, or where it is not known. */
  readonly query: string;
}

/** Cuts a byte stream into whole frames. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): readonly Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    while (this.#rest.length >= HEADER_BYTES) {
      const bytes = HEADER_BYTES + this.#rest.readInt32BE(5);
      assert(bytes >= HEADER_BYTES && bytes <= FRAME_BYTES_MAX, 'these are no frames of CQL v3 or v4');
      if (this.#rest.length < bytes) break;
      frames.push(this.#rest.subarray(0, bytes));
      this.#rest = this.#rest.subarray(bytes);
    }
    return frames;
  }
}

/** Texts of prepared statements by the hexadecimal form of their ids. */
export class PreparedTexts {
  readonly #texts = new Map<string, string>();

  /** Learns from a reply to a PREPARE of this text. */
  learn(reply: Buffer, query: string): void {
    if (reply[4] !== Opcode.RESULT || reply.readInt32BE(HEADER_BYTES) !== RESULT_PREPARED) return;
    assert(this.#texts.size < PREPARED_MAX, 'a test prepares without end');
    this.#texts.set(shortBytes(reply, HEADER_BYTES + 4).toString('hex'), query);
  }

  /** Reads a request's frame. */
  request(frame: Buffer, connection: number): CqlRequest {
    assert(((frame[1] as number) & FLAG_COMPRESSED) === 0, 'compressed frames cannot be read here');
    const opcode = frame[4] as number;
    return { opcode, stream: frame.readInt16BE(2), connection, query: this.#query(frame, opcode) };
  }

  #query(frame: Buffer, opcode: number): string {
    switch (opcode) {
      case Opcode.QUERY:
      case Opcode.PREPARE:
        return longString(frame, HEADER_BYTES);
      case Opcode.EXECUTE:
        return this.#textOf(shortBytes(frame, HEADER_BYTES));
      case Opcode.BATCH: {
        // type 1 | count 2 | kind of the first 1 (0: text, 1: id)
        const isPrepared = frame[HEADER_BYTES + 3] === 1;
        return isPrepared
          ? this.#textOf(shortBytes(frame, HEADER_BYTES + 4))
          : longString(frame, HEADER_BYTES + 4);
      }
      default:
        return '';
    }
  }

  #textOf(id: Buffer): string {
    return this.#texts.get(id.toString('hex')) ?? '';
  }
}

/** Errors as the server sends them: bodies of ERROR frames. Consistency LOCAL_QUORUM where one is named. */
export const ServerError = {
  /** One of two replicas answered. */
  READ_TIMEOUT: errorBody(0x1200, 'read timed out', '0006' + '00000001' + '00000002' + '01'),
  UNAVAILABLE: errorBody(0x1000, 'not enough replicas', '0006' + '00000002' + '00000001'),
  OVERLOADED: errorBody(0x1001, 'overloaded', ''),
  /** Of a conditional write at LOCAL_SERIAL: a Paxos round ended without telling how (write type CAS). */
  CAS_WRITE_TIMEOUT: errorBody(
    0x1100,
    'write timed out',
    `0009${'00000000'}${'00000001'}0003${Buffer.from('CAS').toString('hex')}`,
  ),
} as const;

/** The ERROR frame that answers a request. */
export function errorReply(request: Buffer, body: Buffer): Buffer {
  const header = Buffer.from(request.subarray(0, HEADER_BYTES));
  header[0] = (header[0] as number) | RESPONSE_BIT;
  header[1] = 0;
  header[4] = Opcode.ERROR;
  header.writeInt32BE(body.length, 5);
  return Buffer.concat([header, body]);
}

function errorBody(code: number, text: string, detailHex: string): Buffer {
  const head = Buffer.alloc(6);
  head.writeInt32BE(code);
  head.writeUInt16BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text), Buffer.from(detailHex, 'hex')]);
}

function longString(frame: Buffer, at: number): string {
  return frame.toString('utf8', at + 4, at + 4 + frame.readInt32BE(at));
}

function shortBytes(frame: Buffer, at: number): Buffer {
  return frame.subarray(at + 2, at + 2 + frame.readUInt16BE(at));
}
