/** A real server on a temporary socket with a join that the test holds in its hands, and raw clients for it. */
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { BodyList } from '../../src/codec/body-list.js';
import type { JoinOutcome } from '../../src/codec/join-outcome.js';
import type { JoinRequest } from '../../src/codec/join-request.js';
import { emptyReceipt } from '../../src/codec/receipt.js';
import { tagOf, WireType, writeVarint } from '../../src/codec/wire.js';
import { RequestKind } from '../../src/domain/entries.js';
import type { BodyCacheStats, Clock } from '../../src/domain/ports.js';
import { ResultCode } from '../../src/domain/result.js';
import { ADMISSION_DEFAULT, Admission, type AdmissionLimits } from '../../src/server/admission.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { Metrics } from '../../src/server/metrics.js';
import { Readiness, type ReadyCheck } from '../../src/server/readiness.js';
import type { JoinService } from '../../src/server/routes.js';
import { Server } from '../../src/server/server.js';

export const TENANT = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

/** A clock that tests may push forward. */
export class TestClock implements Clock {
  offsetMs = 0;

  nowMs(): number {
    return performance.now() + this.offsetMs;
  }

  epochMs(): number {
    return Date.now();
  }
}

/** A join whose answers the test decides: at once, held until told, or failing. */
export class FakeJoin implements JoinService {
  readonly requests: JoinRequest[] = [];
  /** Bytes of the one body of every outcome. */
  bodyBytes = 5;
  /** Set: joins wait for `release`. */
  hold = false;
  failWith: Error | undefined;
  private readonly held: (() => void)[] = [];
  private readonly arrivals: (() => void)[] = [];

  async join(request: JoinRequest, decodeMicros: number): Promise<JoinOutcome> {
    this.requests.push(request);
    for (const arrived of this.arrivals.splice(0)) arrived();
    if (this.failWith !== undefined) throw this.failWith;
    if (this.hold) await new Promise<void>((resolve) => this.held.push(resolve));
    return outcomeOf(request, this.bodyBytes, decodeMicros);
  }

  /** Resolves once this many joins have begun. */
  async begun(count: number): Promise<void> {
    while (this.requests.length < count) {
      await new Promise<void>((resolve) => this.arrivals.push(resolve));
    }
  }

  release(): void {
    for (const resolve of this.held.splice(0)) resolve();
  }
}

/** Every entry settled OK with one shared body of this size. */
function outcomeOf(request: JoinRequest, bodyBytes: number, decodeMicros: number): JoinOutcome {
  const bodies = new BodyList(bodyBytes + 64 + request.entries.count * 12 + 300);
  const { entries } = request;
  if (entries.count > 0) {
    const at = bodies.append(bodyBytes);
    bodies.buffer.fill(0x0a, at, at + bodyBytes);
    writeFillerBody(bodies.buffer, at, bodyBytes);
  }
  for (let index = 0; index < entries.count; index++) {
    if (entries.code[index] !== ResultCode.PENDING) continue;
    entries.code[index] = ResultCode.OK;
    entries.body[index] = 1;
  }
  return {
    entries,
    bodies,
    receipt: { ...emptyReceipt(), entries: entries.count, bodyBytes, decodeMicros },
    wantReceipt: request.wantReceipt,
  };
}

/** A valid MessageBody of exactly this size: one payload field. */
function writeFillerBody(target: Uint8Array, at: number, bodyBytes: number): void {
  if (bodyBytes < 3) return;
  const lengthBytes =
    bodyBytes - 3 < 0x80 ? 1 : bodyBytes - 4 < 0x4000 ? 2 : bodyBytes - 5 < 0x20_0000 ? 3 : 4;
  const from = writeVarint(target, at, tagOf(18, WireType.BYTES));
  writeVarint(target, from, bodyBytes - 2 - lengthBytes);
}

const NO_CACHE: BodyCacheStats = {
  regionBytes: 0,
  usedBytes: 0,
  bodies: 0,
  reserved: 0,
  hits: 0,
  misses: 0,
  published: 0,
  evicted: 0,
  expired: 0,
  removed: 0,
  refused: 0,
  floors: 0,
  paused: false,
};

export interface Fixture {
  readonly server: Server;
  readonly join: FakeJoin;
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly clock: TestClock;
  readonly socketPath: string;
  readonly directory: string;
  close(): Promise<void>;
}

export interface FixtureOptions {
  readonly limits?: Partial<AdmissionLimits>;
  readonly checks?: readonly ReadyCheck[];
  readonly socketMode?: number;
}

export function temporaryDirectory(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'mj-'));
}

export async function startServer(options: FixtureOptions = {}): Promise<Fixture> {
  const directory = temporaryDirectory();
  const socketPath = path.join(directory, 'mailjoin.sock');
  const join = new FakeJoin();
  const clock = new TestClock();
  const admission = new Admission({ ...ADMISSION_DEFAULT, ...options.limits });
  const metrics = new Metrics();
  const server = new Server({
    socketPath,
    socketMode: options.socketMode ?? 0o660,
    joiner: join,
    admission,
    readiness: new Readiness(options.checks ?? [], clock),
    metrics,
    clock,
    log: SILENT_LOG,
  });
  metrics.observe({
    cache: () => NO_CACHE,
    joins: () => ({ batches: 0, flights: 0, reads: 0 }),
    keys: () => ({
      entries: 0,
      hits: 0,
      misses: 0,
      unwrapCalls: 0,
      unwrapFailures: 0,
      watcherAgeMs: 0,
      watcherFailures: 0,
    }),
    opener: () => ({ inlineJobs: 0, workerJobs: 0, repeats: 0, bytesInFlight: 0 }),
    inFlight: () => ({
      batches: admission.batches,
      requestBytes: admission.requestBytes,
      responseBytes: admission.responseBytes,
      connections: server.connections,
    }),
  });
  await server.start();
  return {
    server,
    join,
    admission,
    metrics,
    clock,
    socketPath,
    directory,
    close: async () => {
      join.hold = false;
      join.release();
      await server.stop(100);
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}

// ---------------------------------------------------------------- requests

export interface RequestShape {
  readonly kind?: RequestKind;
  readonly tenant?: Uint8Array | undefined;
  readonly entries?: number;
}

/** A protobuf JoinRequest with `entries` well-formed references. */
export function protobufRequest(shape: RequestShape = {}): Buffer {
  const parts: Buffer[] = [varintField(2, shape.kind ?? RequestKind.MAILBOX_BATCH)];
  const tenant = 'tenant' in shape ? shape.tenant : TENANT;
  if (tenant !== undefined) parts.push(bytesField(3, tenant));
  for (let index = 0; index < (shape.entries ?? 1); index++) {
    const messageId = Buffer.alloc(16);
    messageId.writeUInt32BE(index + 1, 12);
    parts.push(
      bytesField(
        4,
        Buffer.concat([
          bytesField(1, Buffer.alloc(16, 7)),
          varintField(2, index + 1),
          bytesField(3, messageId),
        ]),
      ),
    );
  }
  return Buffer.concat(parts);
}

function varintField(field: number, value: number): Buffer {
  const target = Buffer.alloc(12);
  const at = writeVarint(target, 0, tagOf(field, WireType.VARINT));
  return target.subarray(0, writeVarint(target, at, value));
}

function bytesField(field: number, bytes: Uint8Array): Buffer {
  const target = Buffer.alloc(12);
  const at = writeVarint(target, 0, tagOf(field, WireType.BYTES));
  return Buffer.concat([target.subarray(0, writeVarint(target, at, bytes.length)), bytes]);
}

/** The bytes of an HTTP request. */
export function httpRequest(
  method: string,
  url: string,
  headers: readonly string[] = [],
  body?: Uint8Array,
): Buffer {
  const lines = [`${method} ${url} HTTP/1.1`, 'Host: sidecar', ...headers];
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body ?? Buffer.alloc(0)]);
}

export function joinRequest(
  body: Uint8Array,
  mediaType = 'application/x-protobuf',
  ...headers: string[]
): Buffer {
  return httpRequest('POST', '/v1/join', [`Content-Type: ${mediaType}`, ...headers], body);
}

// ---------------------------------------------------------------- raw clients

export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** A plain socket client that parses whole responses with a Content-Length. */
export class RawClient {
  readonly socket: net.Socket;
  private received = Buffer.alloc(0);
  private closed = false;
  private readonly changes: (() => void)[] = [];

  constructor(socketPath: string) {
    this.socket = net.connect({ path: socketPath, allowHalfOpen: false });
    this.socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.changed();
    });
    this.socket.on('close', () => {
      this.closed = true;
      this.changed();
    });
    // A peer that closes while this side still writes shows up as an error before 'close'.
    this.socket.on('error', () => undefined);
  }

  static async open(socketPath: string): Promise<RawClient> {
    const client = new RawClient(socketPath);
    await new Promise<void>((resolve, reject) => {
      client.socket.once('connect', resolve);
      client.socket.once('error', reject);
    });
    return client;
  }

  /** Writes and waits until the system has taken it. */
  send(bytes: Uint8Array | string): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** The next whole response. Rejects when the connection ends before it. */
  async response(withoutBody = false): Promise<RawResponse> {
    for (;;) {
      const parsed = this.parse(withoutBody);
      if (parsed !== undefined) return parsed;
      if (this.closed) throw new Error('the connection ended before a whole response');
      await this.change();
    }
  }

  async request(bytes: Uint8Array): Promise<RawResponse> {
    await this.send(bytes);
    return this.response();
  }

  /** Resolves when the peer has closed. */
  async ended(): Promise<void> {
    while (!this.closed) await this.change();
  }

  get unread(): number {
    return this.received.length;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.changes.push(resolve));
  }

  private changed(): void {
    for (const resolve of this.changes.splice(0)) resolve();
  }

  private parse(withoutBody: boolean): RawResponse | undefined {
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [first = '', ...lines] = this.received.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const bodyBytes = withoutBody ? 0 : Number(headers.get('content-length') ?? 0);
    const end = headEnd + 4 + bodyBytes;
    if (this.received.length < end) return undefined;
    const body = this.received.subarray(headEnd + 4, end);
    this.received = this.received.subarray(end);
    return { status: Number(first.split(' ')[1]), headers, body };
  }
}

/** One request on a connection of its own. */
export async function exchange(socketPath: string, bytes: Uint8Array): Promise<RawResponse> {
  const client = await RawClient.open(socketPath);
  try {
    return await client.request(bytes);
  } finally {
    client.destroy();
  }
}

/** The `code` of a coded JSON error. */
export function errorCodeOf(response: RawResponse): string {
  return String(JSON.parse(response.body.toString()).code);
}

/** Waits until a condition of the server's own state holds, turn by turn of the event loop. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
