/**
 * One keep-alive connection to the sidecar: one request at a time, never pipelined.
 *
 *     CONNECTING ──▶ BUSY ◀──▶ IDLE          every state ──▶ CLOSED, and no way back
 *
 * Reads go into a buffer of the connection's own until the head is complete, then straight into the response's
 * buffer, which belongs to whoever receives the response. A response is given to the exchange that is being served
 * at that moment; an exchange that is abandoned takes its connection along, so a late reply has nobody left to
 * reach (B39). Bytes that nobody asked for close the connection.
 */
import { strict as assert } from 'node:assert';
import { connect, type Socket } from 'node:net';
import { MailjoinError } from '../domain/errors.js';
import {
  CLIENT_HEAD_BYTES_MAX,
  CLIENT_READ_BYTES,
  CLIENT_REQUEST_BYTES_KEPT,
  CLIENT_RESPONSE_BYTES_MAX,
} from '../domain/limits.js';
import { protocolError } from './protocol-error.js';
import { createRequestBuffer, type RequestBuffer } from './request-buffer.js';
import { findHeadEnd, parseResponseHead, type ResponseHead } from './response-head.js';

/** A whole response. `body` belongs to the receiver. */
export interface Response {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** A request and what becomes of it. Exactly one of `receive` and `fail` ends it, unless it is abandoned. */
export interface Exchange {
  /** Encodes the whole, already checked HTTP request into the buffer; returns the bytes to send. May be called twice. */
  write(buffer: RequestBuffer): Uint8Array;
  /** Takes the response; the request's bytes are still in the buffer. What it throws fails the exchange. */
  receive(response: Response): void;
  fail(error: unknown): void;
  /** Set by the pool while a connection serves it. */
  connection: Connection | undefined;
  /** True once it has been sent again because a kept connection had gone. */
  resent: boolean;
}

/** What a connection tells its pool. */
export interface ConnectionOwner {
  /** The exchange is over and the connection can serve another. */
  idle(connection: Connection): void;
  /** The connection is gone; `resend` = an exchange that must be sent again on a new one. */
  closed(connection: Connection, resend: Exchange | undefined): void;
}

const State = { CONNECTING: 0, IDLE: 1, BUSY: 2, CLOSED: 3 } as const;
type State = (typeof State)[keyof typeof State];

export class Connection {
  private readonly owner: ConnectionOwner;
  private readonly socketPath: string;
  private readonly socket: Socket;
  /** Resolves when the socket is gone. */
  readonly gone: Promise<void>;
  private state: State = State.CONNECTING;
  private exchange: Exchange | undefined;
  private requestBuffer: RequestBuffer = createRequestBuffer();
  /** Responses received so far: a connection that has served before may turn out stale. */
  private served = 0;

  private readonly readBuffer: Uint8Array = Buffer.allocUnsafeSlow(CLIENT_READ_BYTES);
  /** Where the next read goes. */
  private readTarget: Uint8Array = this.readBuffer;
  /** Bytes of this response received so far, head included; 0 = not a byte yet. */
  private received = 0;
  private head: ResponseHead | undefined;
  /** The response's own buffer; one byte longer than the body where a surplus byte must be noticed. */
  private body: Uint8Array | undefined;
  private bodyFilled = 0;

  /** Connects and serves `exchange` as soon as it is connected. */
  constructor(socketPath: string, owner: ConnectionOwner, exchange: Exchange) {
    this.socketPath = socketPath;
    this.owner = owner;
    this.exchange = exchange;
    exchange.connection = this;
    this.socket = connect({
      path: socketPath,
      onread: {
        buffer: () => this.readTarget,
        callback: (readBytes) => {
          this.onRead(readBytes);
          return true;
        },
      },
    });
    this.socket.on('connect', () => this.onConnect());
    this.socket.on('error', (error) => this.onLost(error));
    this.socket.on('end', () => this.onLost(undefined));
    this.gone = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.onLost(undefined);
        resolve();
      });
    });
  }

  /** Serves another exchange. Only for an idle connection. */
  serve(exchange: Exchange): void {
    assert.equal(this.state, State.IDLE);
    this.state = State.BUSY;
    this.exchange = exchange;
    exchange.connection = this;
    this.socket.ref();
    this.send(exchange);
  }

  /** Closes; whoever is being served is told `error`, or nothing when it gave up by itself. */
  abandon(error?: MailjoinError): void {
    if (this.state === State.CLOSED) return;
    const exchange = this.takeExchange();
    if (error !== undefined) exchange?.fail(error);
    this.shut(undefined);
  }

  private onConnect(): void {
    if (this.state !== State.CONNECTING) return;
    assert(this.exchange !== undefined);
    this.state = State.BUSY;
    this.send(this.exchange);
  }

  private send(exchange: Exchange): void {
    try {
      this.socket.write(exchange.write(this.requestBuffer));
    } catch (error) {
      // Requests are checked before they come here, so this is a bug; it ends this exchange alone.
      this.break(error);
    }
  }

  private onRead(readBytes: number): void {
    if (this.state === State.CLOSED) return;
    if (this.state !== State.BUSY) {
      this.shut(undefined);
      return;
    }
    try {
      this.received += readBytes;
      if (this.body === undefined) this.readHead(readBytes);
      else this.bodyFilled += readBytes;
      if (this.body === undefined) return;
      const length = (this.head as ResponseHead).contentLength;
      if (this.bodyFilled > length) throw protocolError('bytes behind the response');
      if (this.bodyFilled < length) this.readTarget = this.body.subarray(this.bodyFilled);
      else this.complete();
    } catch (error) {
      this.break(error);
    }
  }

  /** Looks for the end of the head; once it is there, `body` is set and holds what came with it. */
  private readHead(readBytes: number): void {
    const headEnd = findHeadEnd(this.readBuffer, this.received - readBytes, this.received);
    if (headEnd === -1 ? this.received >= CLIENT_HEAD_BYTES_MAX : headEnd > CLIENT_HEAD_BYTES_MAX) {
      throw protocolError('a head beyond the limit');
    }
    if (headEnd === -1) {
      this.readTarget = this.readBuffer.subarray(this.received);
      return;
    }
    const head = parseResponseHead(this.readBuffer, headEnd);
    if (head.contentLength > CLIENT_RESPONSE_BYTES_MAX) throw protocolError('a length beyond the limit');
    const filled = this.received - headEnd;
    if (filled > head.contentLength) throw protocolError('bytes behind the response');
    const body = Buffer.allocUnsafeSlow(head.contentLength + (filled < head.contentLength ? 1 : 0));
    body.set(this.readBuffer.subarray(headEnd, this.received));
    this.head = head;
    this.body = body;
    this.bodyFilled = filled;
  }

  private complete(): void {
    const { status, contentType, contentLength, close } = this.head as ResponseHead;
    const body = (this.body as Uint8Array).subarray(0, contentLength);
    const exchange = this.exchange as Exchange;
    this.head = undefined;
    this.body = undefined;
    this.received = 0;
    this.readTarget = this.readBuffer;
    this.served++;
    exchange.receive({ status, contentType, body });
    this.takeExchange();
    // A response that came before its request was taken whole leaves the connection between two messages.
    if (close || this.socket.writableLength > 0) this.shut(undefined);
    else this.becomeIdle();
  }

  private becomeIdle(): void {
    if (this.requestBuffer.bytes.length > CLIENT_REQUEST_BYTES_KEPT)
      this.requestBuffer = createRequestBuffer();
    this.state = State.IDLE;
    // An idle connection must not keep a gateway's process alive.
    this.socket.unref();
    this.owner.idle(this);
  }

  /** The response is not one of this contract, or not this request's: the connection cannot be trusted any more. */
  private break(error: unknown): void {
    const exchange = this.takeExchange();
    exchange?.fail(error);
    this.shut(undefined);
  }

  /** The other side went away, or was never there. */
  private onLost(cause: Error | undefined): void {
    if (this.state === State.CLOSED) return;
    const connecting = this.state === State.CONNECTING;
    const exchange = this.takeExchange();
    if (exchange === undefined) {
      this.shut(undefined);
    } else if (connecting) {
      exchange.fail(connectError(this.socketPath, cause));
      this.shut(undefined);
    } else if (this.received === 0 && this.served > 0 && !exchange.resent) {
      // A kept connection that had gone before a byte of the response came: joins can be repeated.
      exchange.resent = true;
      this.shut(exchange);
    } else {
      exchange.fail(new MailjoinError('CLIENT_DISCONNECTED', undefined, { cause }));
      this.shut(undefined);
    }
  }

  private takeExchange(): Exchange | undefined {
    const exchange = this.exchange;
    this.exchange = undefined;
    if (exchange !== undefined) exchange.connection = undefined;
    return exchange;
  }

  private shut(resend: Exchange | undefined): void {
    this.state = State.CLOSED;
    this.body = undefined;
    this.socket.destroy();
    this.owner.closed(this, resend);
  }
}

/** EAGAIN (the accept queue is full, B28), ENOENT and ECONNREFUSED are what a Unix socket answers. */
function connectError(socketPath: string, cause: Error | undefined): MailjoinError {
  const code = cause !== undefined && 'code' in cause ? String(cause.code) : 'closed';
  return new MailjoinError('CLIENT_CONNECT', `${code} on ${socketPath}`, { cause });
}
