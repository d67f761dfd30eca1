/**
 * One POST of a route (routes.ts), from its headers to the last byte that its caller takes.
 *
 *     RECEIVING ──last chunk──▶ WORKING ──outcome──▶ WRITING ──taken──▶ ENDED
 *         │                        │                    │
 *         └──refused, aborted──────┴──refused───────────┴──aborted, too slow──▶ ENDED
 *
 * An abort may come at any time (B22): the HTTP library then takes the response away, and nothing may touch it any
 * more. A batch whose caller has gone is joined to its end, since others may wait for its flights, and its outcome is
 * dropped. Whatever happens, what was counted at admission is given back exactly once. Owner: the main thread.
 */

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { strict as assert } from 'node:assert';
import type { MediaType } from '../codec/error-response.js';
import { MailjoinError } from '../domain/errors.js';
import { RESPONSE_DRAIN_MS_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { Admission } from './admission.js';
import { errorAnswer, sendAnswer, statusLine } from './answer.js';
import { announcedBodyBytes } from './body-length.js';
import type { Log } from './log.js';
import { requestMediaType, responseMediaType } from './media-type.js';
import type { Metrics, RequestName } from './metrics.js';
import { RequestBody } from './request-body.js';
import type { Route } from './routes.js';

/** What all exchanges of a server share. */
export interface ExchangeContext {
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  /** True once the process is stopping: new requests are refused with SHUTTING_DOWN. */
  readonly stopping: boolean;
  /** Called once, when the exchange has ended. */
  ended(exchange: Exchange): void;
}

const State = { RECEIVING: 0, WORKING: 1, WRITING: 2, ENDED: 3 } as const;
type State = (typeof State)[keyof typeof State];

/** The headers that the route looks at. */
interface Headers {
  contentType: string;
  accept: string;
  readonly contentLengths: string[];
  readonly transferEncodings: string[];
}

export class Exchange {
  private readonly context: ExchangeContext;
  private readonly route: Route;
  private readonly res: HttpResponse;
  private state: State = State.RECEIVING;
  /** The response is ours to use: neither aborted nor answered. */
  private usable = true;
  private media: MediaType = 'application/json';
  private requestMedia: MediaType | undefined;
  private body: RequestBody | undefined;
  private requestBytesCounted = 0;
  private name: RequestName | undefined;
  private admitted = false;
  private responseBytesCounted = 0;
  private writingSinceMs = 0;

  constructor(context: ExchangeContext, route: Route, res: HttpResponse) {
    this.context = context;
    this.route = route;
    this.res = res;
  }

  /** True while the request's body is still arriving. */
  get isReceiving(): boolean {
    return this.state === State.RECEIVING;
  }

  /** Starts with the request's headers; must be called inside the route's handler, where `req` is valid. */
  begin(req: HttpRequest): void {
    const headers = readHeaders(req);
    this.requestMedia = requestMediaType(headers.contentType);
    this.media = responseMediaType(headers.accept, this.requestMedia);
    this.res.onAborted(() => this.onAborted());
    this.guarded(() => {
      const announced = announcedBodyBytes(headers.contentLengths, headers.transferEncodings);
      if (this.context.stopping) throw new MailjoinError('SHUTTING_DOWN');
      if (this.requestMedia === undefined) throw new MailjoinError('MEDIA_TYPE', headers.contentType);
      this.body = new RequestBody(announced);
    });
    if (this.state === State.RECEIVING) {
      this.res.onData((chunk, isLast) => this.onChunk(chunk, isLast));
    }
  }

  /** Ends the exchange with a coded error; while its body is arriving, only together with its connection. */
  refuse(error: MailjoinError): void {
    const close = this.state === State.RECEIVING || this.context.stopping;
    this.context.metrics.countRequest(this.name, error.code);
    if (this.usable) {
      this.usable = false;
      sendAnswer(this.res, errorAnswer(error, this.media, close));
    }
    this.end();
  }

  /** Drops the response, and its connection, when its reader has not taken it in time (B21). */
  dropIfSlow(nowMs: number): void {
    if (this.state !== State.WRITING || nowMs - this.writingSinceMs < RESPONSE_DRAIN_MS_MAX) return;
    this.context.metrics.countDropped();
    this.usable = false;
    this.end();
    this.res.close();
  }

  private onAborted(): void {
    this.usable = false;
    if (this.state === State.ENDED) return;
    this.context.metrics.countAborted();
    // A batch that is being joined keeps its place until its outcome is there: its memory is held until then.
    if (this.state !== State.WORKING) this.end();
  }

  private onChunk(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.state !== State.RECEIVING) return;
    this.guarded(() => {
      const body = this.body;
      assert(body !== undefined);
      body.append(chunk);
      this.countRequestBytes(body.capacityBytes);
      if (!isLast) return;
      this.state = State.WORKING;
      void this.work(body.take());
    });
  }

  private async work(bytes: Buffer): Promise<void> {
    const { admission, clock } = this.context;
    try {
      if (this.context.stopping) throw new MailjoinError('SHUTTING_DOWN');
      const decodeFromMs = clock.nowMs();
      assert(this.requestMedia !== undefined);
      const work = this.route.decode(this.requestMedia, bytes);
      this.name = work.name;
      const decodeMicros = (clock.nowMs() - decodeFromMs) * 1000;
      this.responseBytesCounted = admission.admit(work.kind, work.entryCount, work.responseBytesMax);
      this.admitted = true;
      const isWanted = () => this.usable;
      const encode = await work.run(decodeMicros, (bytes) => this.mayHold(bytes), isWanted);
      if (this.usable) this.respond(encode);
      else this.end();
    } catch (error) {
      this.refuse(this.coded(error));
    }
  }

  /** Whether the response may grow to so many bytes while its batch is being joined; counted when it may. */
  private mayHold(bytes: number): boolean {
    const countedBytes = Math.max(bytes, this.responseBytesCounted);
    if (!this.context.admission.tryHold(this.responseBytesCounted, countedBytes)) return false;
    this.responseBytesCounted = countedBytes;
    return true;
  }

  private respond(encode: (media: MediaType) => Buffer): void {
    const { admission, clock, metrics } = this.context;
    const encodeFromMs = clock.nowMs();
    const body = encode(this.media);
    metrics.observeStage('encode', (clock.nowMs() - encodeFromMs) * 1000);
    // The view keeps its whole buffer alive, so that is what counts.
    if (!admission.tryHold(this.responseBytesCounted, body.buffer.byteLength)) {
      throw new MailjoinError('OVERLOADED', 'too many response bytes are in flight');
    }
    this.responseBytesCounted = body.buffer.byteLength;
    this.state = State.WRITING;
    this.writingSinceMs = clock.nowMs();
    this.write(body);
  }

  /** Sends what the reader takes at once and the rest as it takes more; nothing is copied to wait for it. */
  private write(body: Buffer): void {
    const { res } = this;
    res.cork(() => {
      res.writeStatus(statusLine(200)).writeHeader('Content-Type', this.media);
      if (this.context.stopping) res.writeHeader('Connection', 'close');
      if (this.tryEnd(body, 0)) return;
      res.onWritable((offset) => this.state !== State.WRITING || this.tryEnd(body, offset));
    });
  }

  /** Writes from an offset on; true when the reader took all of it. */
  private tryEnd(body: Buffer, offset: number): boolean {
    const [taken, responded] = this.res.tryEnd(body.subarray(offset), body.length);
    if (responded) {
      this.usable = false;
      const { clock, metrics } = this.context;
      metrics.observeStage('write', (clock.nowMs() - this.writingSinceMs) * 1000);
      metrics.countRequest(this.name, 'OK');
      this.end();
    }
    return taken;
  }

  private countRequestBytes(capacityBytes: number): void {
    const more = capacityBytes - this.requestBytesCounted;
    if (more === 0) return;
    this.context.admission.addRequestBytes(more);
    this.requestBytesCounted = capacityBytes;
  }

  /** Gives back what was counted; the exchange is over. */
  private end(): void {
    if (this.state === State.ENDED) return;
    this.state = State.ENDED;
    const { admission } = this.context;
    if (this.requestBytesCounted > 0) admission.releaseRequestBytes(this.requestBytesCounted);
    if (this.admitted) admission.release(this.responseBytesCounted);
    this.body = undefined;
    this.context.ended(this);
  }

  /** Runs a step whose errors become the answer. An error that is not ours is a bug: INTERNAL, and logged. */
  private guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.refuse(this.coded(error));
    }
  }

  private coded(error: unknown): MailjoinError {
    if (error instanceof MailjoinError) return error;
    // Only the kind of error is logged: its text may hold parts of a request.
    this.context.log.write('error', 'internal_error', {
      error: error instanceof Error ? error.name : typeof error,
      at: error instanceof Error ? stackLine(error) : undefined,
    });
    return new MailjoinError('INTERNAL', undefined, { cause: error });
  }
}

function readHeaders(req: HttpRequest): Headers {
  const headers: Headers = { contentType: '', accept: '', contentLengths: [], transferEncodings: [] };
  req.forEach((name, value) => {
    switch (name) {
      case 'content-type':
        headers.contentType = value;
        break;
      case 'accept':
        headers.accept = value;
        break;
      case 'content-length':
        headers.contentLengths.push(value);
        break;
      case 'transfer-encoding':
        headers.transferEncodings.push(value);
        break;
    }
  });
  return headers;
}

/** Where an error was thrown, without its message. */
function stackLine(error: Error): string | undefined {
  return error.stack
    ?.split('\n')
    .find((line) => line.startsWith('    at '))
    ?.trim();
}
