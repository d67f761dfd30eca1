/**
 * A TCP proxy in front of a Cassandra that can hold the server's answers back or give its own, and counts what a
 * client sends. Frames of the CQL protocol (v4): version, flags, stream 2, opcode, length 4, body.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

const HEADER_BYTES = 9;
const STREAM_AT = 2;
const OPCODE_AT = 4;
const LENGTH_AT = 5;
const ERROR = 0x00;
/** A prepared statement's execution. */
export const EXECUTE = 0x0a;

/** The body of an ERROR frame: read timeout at LOCAL_QUORUM, all replicas answered, none with the data. */
export function readTimeoutBody(): Buffer {
  const message = 'timed out';
  const body = Buffer.alloc(4 + 2 + message.length + 2 + 4 + 4 + 1);
  let at = body.writeInt32BE(0x1200, 0);
  at = body.writeUInt16BE(message.length, at);
  at += body.write(message, at);
  at = body.writeUInt16BE(0x0006, at);
  at = body.writeInt32BE(1, at);
  body.writeInt32BE(1, at);
  return body;
}

export class FaultyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Answers held back, in order, each with its way to the client. */
  #held: (() => void)[] | undefined;
  /** Answers every EXECUTE in the server's stead. */
  #errorBody: Buffer | undefined;
  readonly #opcodes: number[] = [];
  port = 0;

  constructor(targetHost: string, targetPort: number) {
    this.#server = createServer((client) => {
      const upstream = connect(targetPort, targetHost);
      let unread: Buffer = Buffer.alloc(0);
      client.on('data', (chunk) => {
        unread = this.#forwardFrames(Buffer.concat([unread, chunk]), client, upstream);
      });
      upstream.on('data', (chunk) => {
        if (this.#held === undefined) client.write(chunk);
        else this.#held.push(() => client.write(chunk));
      });
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(from);
        from.on('close', () => to.destroy());
        from.on('error', () => to.destroy());
      }
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    this.port = typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Counts and forwards whole frames; returns what is left of one that has not arrived in full. */
  #forwardFrames(bytes: Buffer, client: Socket, upstream: Socket): Buffer {
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + bytes.readUInt32BE(at + LENGTH_AT);
      if (end > bytes.length) break;
      const frame = bytes.subarray(at, end);
      this.#opcodes.push(frame[OPCODE_AT] as number);
      if (frame[OPCODE_AT] === EXECUTE && this.#errorBody !== undefined) {
        client.write(errorFrame(frame, this.#errorBody));
      } else {
        upstream.write(frame);
      }
      at = end;
    }
    return bytes.subarray(at);
  }

  /** From now on the server's answers wait. */
  stall(): void {
    this.#held = [];
  }

  /** Lets the held answers go, late, and later ones pass. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const send of held) send();
  }

  /** From now on every EXECUTE is answered with this ERROR body, and the server does not see it. */
  failExecutes(errorBody: Buffer): void {
    this.#errorBody = errorBody;
  }

  /** How many frames of this opcode clients have sent so far. */
  sent(opcode: number): number {
    return this.#opcodes.filter((each) => each === opcode).length;
  }

  /** Breaks every connection, as a server that is killed does. */
  breakConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async close(): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function errorFrame(request: Buffer, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = 0x84; // a response of protocol v4
  request.copy(header, STREAM_AT, STREAM_AT, OPCODE_AT);
  header[OPCODE_AT] = ERROR;
  header.writeUInt32BE(body.length, LENGTH_AT);
  return Buffer.concat([header, body]);
}
