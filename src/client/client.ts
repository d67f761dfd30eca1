/**
 * The client of a gateway: joins over the sidecar's Unix socket.
 *
 * Owns a bounded pool of keep-alive connections. Nothing is pipelined, so one slow batch delays no other beyond the
 * number of connections. A call that gives up (deadline, signal) closes the connection that served it.
 */
import { MailjoinError } from '../domain/errors.js';
import {
  CLIENT_CONNECTIONS_DEFAULT,
  CLIENT_CONNECTIONS_MAX,
  CLIENT_GRACE_MS,
  CLIENT_ROUNDS_DEFAULT,
  SOCKET_PATH_BYTES_MAX,
} from '../domain/limits.js';
import { exchange, type Message } from './call.js';
import type { Response } from './connection.js';
import { ConnectionPool } from './connection-pool.js';
import { checkRequestBytes, encodeJoinRequest } from './encode-request.js';
import { type HistoryPage, type HistoryRequest, historyMessage } from './history-call.js';
import {
  type CallOptions,
  callTimes,
  type JoinEntry,
  type JoinRequest,
  type PreparedJoin,
  prepareJoin,
} from './join-request.js';
import {
  checkMessageIds,
  type DecodedResponse,
  decodeJoinResponse,
  type EntryOutcome,
  JoinResult,
  outcomeOf,
} from './join-result.js';
import { type LookupRequest, lookupMessage, type MessagePlace } from './lookup-call.js';
import { detailMessage, type MessageDetail, type MessageRequest } from './message-call.js';
import { type Probe, type ProbePath, probeMessage } from './probe.js';
import { protocolError } from './protocol-error.js';
import type { RequestBuffer } from './request-buffer.js';
import { mayRetry, pause, retryDelayMs } from './retry.js';
import { sidecarErrorOf } from './sidecar-error.js';

export interface ClientOptions {
  /** Path of the sidecar's Unix socket. */
  readonly socketPath: string;
  /** Connections, and so requests under way at once. Default 8, at most 256. */
  readonly connectionsMax?: number | undefined;
  /** Milliseconds for a whole call that names no limit of its own. Default: the deadline and half a second. */
  readonly timeoutMs?: number | undefined;
  /** How often a 503 or a failed connect is tried again, with the sidecar's hint and jitter. Default 0. */
  readonly retries?: number | undefined;
}

/** How long a probe may take when nothing is said. */
const PROBE_TIMEOUT_MS = 2_000;

export class MailjoinClient {
  private readonly pool: ConnectionPool;
  private readonly timeoutMs: number | undefined;
  private readonly retries: number;

  /** Connects when first used. Throws SOCKET_PATH or CONFIG_INVALID. */
  constructor(options: ClientOptions) {
    const { socketPath, connectionsMax = CLIENT_CONNECTIONS_DEFAULT, timeoutMs, retries = 0 } = options;
    if (socketPath.length === 0 || Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES_MAX) {
      throw new MailjoinError('SOCKET_PATH', `1 to ${SOCKET_PATH_BYTES_MAX} bytes`);
    }
    if (!Number.isInteger(connectionsMax) || connectionsMax < 1 || connectionsMax > CLIENT_CONNECTIONS_MAX) {
      throw new MailjoinError('CONFIG_INVALID', `connectionsMax: 1 to ${CLIENT_CONNECTIONS_MAX}`);
    }
    if (timeoutMs !== undefined && !(timeoutMs >= 1))
      throw new MailjoinError('CONFIG_INVALID', 'timeoutMs: from 1');
    if (!Number.isInteger(retries) || retries < 0)
      throw new MailjoinError('CONFIG_INVALID', 'retries: from 0');
    this.pool = new ConnectionPool(socketPath, connectionsMax);
    this.timeoutMs = timeoutMs;
    this.retries = retries;
  }

  /**
   * Turns references into bodies: one outcome per entry, in the order of the request. What goes wrong with an entry
   * is its outcome's; the call rejects only as a whole: with the sidecar's coded error (SidecarError), with
   * CLIENT_CONNECT, CLIENT_DISCONNECTED, CLIENT_TIMEOUT, CLIENT_PROTOCOL or CLIENT_CLOSED, with OVERLOADED when too
   * many calls wait, or with the signal's reason. With `repeatDeferred`, a repeat that fails leaves its entries
   * DEFERRED and the call resolves with what it has.
   */
  async join(request: JoinRequest, options: CallOptions = {}): Promise<JoinResult> {
    const prepared = prepareJoin(request);
    checkRequestBytes(prepared);
    const times = callTimes(request, options.timeoutMs ?? this.timeoutMs, CLIENT_GRACE_MS);
    const startedMs = performance.now();
    const limits = { deadlineAtMs: startedMs + times.deadlineMs, timeoutAtMs: startedMs + times.timeoutMs };
    const first = await this.round(prepared, undefined, limits, options);
    const entries = settle(request.entries, first);
    const responses = [first];
    if (request.repeatDeferred === true) await this.repeat(prepared, entries, responses, limits, options);
    return new JoinResult(entries, responses);
  }

  /**
   * One page of a conversation. `hasMore` and `nextAnchor` lead to the next; a `hole` ends the scrolling, and its
   * `continueAnchor` goes on behind it. Rejects as `join` does, and with the store's coded errors.
   */
  async history(request: HistoryRequest, options: CallOptions = {}): Promise<HistoryPage> {
    const { deadlineAtMs, timeoutAtMs } = this.limitsOf(request.deadlineMs, options);
    return this.tried(historyMessage(request, deadlineAtMs), timeoutAtMs, options);
  }

  /**
   * One message in detail, with what `userId` reacted with, and who reacted, page by page, where `reactors` asks for it
   * (R4.5). Rejects as `history` does.
   */
  async message(request: MessageRequest, options: CallOptions = {}): Promise<MessageDetail> {
    const { deadlineAtMs, timeoutAtMs } = this.limitsOf(request.deadlineMs, options);
    return this.tried(detailMessage(request, deadlineAtMs), timeoutAtMs, options);
  }

  /**
   * Where a message_id lies: for administration, moderation and fault-finding only (R2.2). Rejects as `history` does, and
   * with LOOKUP_OFF unless the sidecar was started with --lookup.
   */
  async lookup(request: LookupRequest, options: CallOptions = {}): Promise<MessagePlace> {
    const { deadlineAtMs, timeoutAtMs } = this.limitsOf(request.deadlineMs, options);
    return this.tried(lookupMessage(request, deadlineAtMs), timeoutAtMs, options);
  }

  /** Whether the process lives: GET /healthz. */
  health(options: CallOptions = {}): Promise<Probe> {
    return this.probe('/healthz', options);
  }

  /** Whether it can answer joins now, and else why not: GET /readyz. */
  ready(options: CallOptions = {}): Promise<Probe> {
    return this.probe('/readyz', options);
  }

  /**
   * Fails every call that has not settled with CLIENT_CLOSED and closes all connections; resolves when they are
   * gone. For a quiet stop, let the calls under way settle first. Repeatable.
   */
  close(): Promise<void> {
    return this.pool.close();
  }

  private limitsOf(deadlineMs: number | undefined, options: CallOptions): CallLimits {
    const timeoutMs = options.timeoutMs ?? this.timeoutMs;
    const times = callTimes({ kind: 'MAILBOX_BATCH', deadlineMs }, timeoutMs, CLIENT_GRACE_MS);
    const startedMs = performance.now();
    return { deadlineAtMs: startedMs + times.deadlineMs, timeoutAtMs: startedMs + times.timeoutMs };
  }

  private probe(path: ProbePath, options: CallOptions): Promise<Probe> {
    const timeoutMs = options.timeoutMs ?? this.timeoutMs ?? PROBE_TIMEOUT_MS;
    return exchange(this.pool, probeMessage(path), timeoutMs, options.signal);
  }

  /** One request for the entries of `indexes` (undefined = all). */
  private round(
    prepared: PreparedJoin,
    indexes: readonly number[] | undefined,
    { deadlineAtMs, timeoutAtMs }: CallLimits,
    options: CallOptions,
  ): Promise<DecodedResponse> {
    return this.tried(new JoinMessage(prepared, indexes, deadlineAtMs), timeoutAtMs, options);
  }

  /** One message, with its retries. */
  private async tried<T>(message: Message<T>, timeoutAtMs: number, options: CallOptions): Promise<T> {
    const retries = options.retries ?? this.retries;
    for (let attempt = 0; ; attempt++) {
      try {
        return await exchange(this.pool, message, timeoutAtMs - performance.now(), options.signal);
      } catch (error) {
        if (attempt >= retries || !mayRetry(error)) throw error;
        const delayMs = retryDelayMs(error, attempt, Math.random());
        if (performance.now() + delayMs >= timeoutAtMs) throw error;
        await pause(delayMs, options.signal);
      }
    }
  }

  /** Asks again for what was DEFERRED, replacing its outcomes, while rounds and time last. */
  private async repeat(
    prepared: PreparedJoin,
    entries: EntryOutcome[],
    responses: DecodedResponse[],
    limits: CallLimits,
    options: CallOptions,
  ): Promise<void> {
    const roundsMax = prepared.request.repeatMax ?? CLIENT_ROUNDS_DEFAULT;
    while (responses.length < roundsMax) {
      const deferred = entries.flatMap(({ result }, index) => (result === 'DEFERRED' ? [index] : []));
      if (deferred.length === 0 || limits.deadlineAtMs - performance.now() < 1) return;
      let response: DecodedResponse;
      try {
        response = await this.round(prepared, deferred, limits, options);
      } catch (error) {
        const gaveUp = options.signal?.aborted === true;
        if (gaveUp || !(error instanceof MailjoinError) || error.code === 'CLIENT_CLOSED') throw error;
        return;
      }
      responses.push(response);
      deferred.forEach((entryIndex, index) => {
        entries[entryIndex] = outcomeOf(response, index, undefined);
      });
    }
  }
}

/** When a call ends, on performance.now(): for the sidecar, and for the caller. */
interface CallLimits {
  readonly deadlineAtMs: number;
  readonly timeoutAtMs: number;
}

/** One join request, encoded when a connection takes it. */
class JoinMessage implements Message<DecodedResponse> {
  private readonly prepared: PreparedJoin;
  private readonly indexes: readonly number[] | undefined;
  private readonly deadlineAtMs: number;
  private readonly messageAt: Int32Array;

  constructor(prepared: PreparedJoin, indexes: readonly number[] | undefined, deadlineAtMs: number) {
    this.prepared = prepared;
    this.indexes = indexes;
    this.deadlineAtMs = deadlineAtMs;
    this.messageAt = new Int32Array((indexes ?? prepared.request.entries).length);
  }

  write(buffer: RequestBuffer): Uint8Array {
    // What was spent waiting for a connection is not given to the sidecar again.
    const deadlineMs = Math.max(1, Math.floor(this.deadlineAtMs - performance.now()));
    return encodeJoinRequest(buffer, this.prepared, this.indexes, deadlineMs, this.messageAt);
  }

  read(response: Response, requestBytes: Uint8Array): DecodedResponse {
    if (response.status !== 200) throw sidecarErrorOf(response);
    if (response.contentType !== 'application/x-protobuf') throw protocolError('another media type');
    const decoded = decodeJoinResponse(response.body, this.messageAt.length);
    checkMessageIds(decoded, requestBytes, this.messageAt);
    return decoded;
  }
}

function settle(entries: readonly JoinEntry[], response: DecodedResponse): EntryOutcome[] {
  const outcomes: EntryOutcome[] = new Array(entries.length);
  for (let index = 0; index < outcomes.length; index++) {
    outcomes[index] = outcomeOf(response, index, (entries[index] as JoinEntry).inlineBody);
  }
  return outcomes;
}
