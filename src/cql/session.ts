/**
 * The one door to the driver: connects, executes prepared statements page by page, maps errors, counts.
 *
 * Choices that hold for every statement:
 * - No retries in the driver (FallthroughRetryPolicy) and no speculative executions: a flight retries once by
 *   itself (B52), and a retry beneath it would multiply the load of a store that is already late. The driver's two
 *   repeats that cannot add load remain: a request that never reached a socket, and one that was to be prepared anew.
 * - bigint columns are BigInt (B01), maps are Map, so that keys like __proto__ are only keys (B47).
 * - Byte values are views on network buffers (copyBuffer false): rows live only until their bodies are encoded, and
 *   nobody mutates them.
 * - An undefined parameter is bound as unset, never as null (D18); nothing here binds null.
 *
 * Fails with STORE_UNAVAILABLE, STORE_REFUSED; while connecting also with TLS_FAILED or CONFIG_INVALID.
 */
import { Client, policies, type types } from 'cassandra-driver';
import { HISTORY_PAGE_ROWS, READ_PAGE_ROWS, STORE_TIMEOUT_MS_DEFAULT } from '../domain/limits.js';
import { nodeTlsOptions } from '../tls/tls-options.js';
import { connectError } from './connect-error.js';
import { storeError } from './driver-errors.js';
import {
  type CqlConnectOptions,
  checkConnectOptions,
  consistencyOf,
  serialConsistencyOf,
} from './options.js';
import type { CqlStatement, StatementObserver } from './statement.js';

/** After an outage the store is tried again at least this often; the driver's default of ten minutes is too long here. */
const RECONNECT_MS_MIN = 500;
const RECONNECT_MS_MAX = 15_000;
/** Handshakes, the driver's own queries and PREPARE: not on the way of a read, whose own timer bounds it all the same. */
const SETUP_TIMEOUT_MS_MIN = 5_000;
/** A schema change waits for all nodes and for their disks. */
const DDL_TIMEOUT_MS = 60_000;

/** A value as bound; undefined means unset (D18). */
export type CqlValue =
  | Buffer
  | bigint
  | number
  | string
  | undefined
  | types.Tuple
  | ReadonlyMap<string, number>
  | readonly bigint[]
  | readonly number[];

/** A row by column name; the types of its values follow from the statement and the schema. */
export type CqlRow = Readonly<Record<string, unknown>>;

export interface CqlPage {
  readonly rows: readonly CqlRow[];
  /** Where the next page begins; undefined after the last. An empty page may have one (B07). */
  readonly pageState: string | undefined;
}

export interface CqlSession {
  /** Milliseconds for one request. */
  readonly timeoutMs: number;
  /** One request: the statement's first page, or the page at `pageState`; of so many rows instead of its usual ones. */
  execute(
    statement: CqlStatement,
    values: readonly CqlValue[],
    pageState?: string,
    pageRows?: number,
  ): Promise<CqlPage>;
  close(): Promise<void>;
}

/** All rows of a statement, following every page, empty ones too: for small tables off the hot path. */
export async function* eachRow(
  session: CqlSession,
  statement: CqlStatement,
  values: readonly CqlValue[],
): AsyncGenerator<CqlRow> {
  let pageState: string | undefined;
  do {
    const page: CqlPage = await session.execute(statement, values, pageState);
    yield* page.rows;
    pageState = page.pageState;
  } while (pageState !== undefined);
}

class DriverSession implements CqlSession {
  readonly timeoutMs: number;
  readonly #client: Client;
  readonly #onStatement: StatementObserver | undefined;
  /** Query options by CqlStatement.access; shared by all requests, so that none is built per request. */
  readonly #queryOptions: Readonly<Record<CqlStatement['access'], object>>;

  constructor(client: Client, options: CqlConnectOptions, timeoutMs: number) {
    this.#client = client;
    this.#onStatement = options.onStatement;
    this.timeoutMs = timeoutMs;
    const read = consistencyOf('readConsistency', options.readConsistency ?? 'LOCAL_QUORUM');
    const write = consistencyOf('writeConsistency', options.writeConsistency ?? 'LOCAL_QUORUM');
    const serial = serialConsistencyOf('serialConsistency', options.serialConsistency ?? 'LOCAL_SERIAL');
    const each = { prepare: true, readTimeout: timeoutMs };
    this.#queryOptions = {
      read: { ...each, isIdempotent: true, consistency: read, fetchSize: READ_PAGE_ROWS },
      pages: { ...each, isIdempotent: true, consistency: read, fetchSize: HISTORY_PAGE_ROWS },
      serial: { ...each, isIdempotent: true, consistency: serial, fetchSize: READ_PAGE_ROWS },
      write: { ...each, isIdempotent: true, consistency: write },
      conditional: { ...each, isIdempotent: false, consistency: write, serialConsistency: serial },
      ddl: { prepare: false, isIdempotent: false, readTimeout: DDL_TIMEOUT_MS },
    };
  }

  async execute(
    statement: CqlStatement,
    values: readonly CqlValue[],
    pageState?: string,
    pageRows?: number,
  ): Promise<CqlPage> {
    this.#onStatement?.({
      table: statement.table,
      shape: statement.shape,
      furtherPage: pageState !== undefined,
    });
    const usual = this.#queryOptions[statement.access];
    const base = pageRows === undefined ? usual : { ...usual, fetchSize: pageRows };
    try {
      const result = await this.#client.execute(
        statement.cql,
        values as unknown[], // the driver declares a mutable array and does not change it
        pageState === undefined ? base : { ...base, pageState },
      );
      return { rows: result.rows ?? [], pageState: result.pageState ?? undefined };
    } catch (cause) {
      throw storeError(cause);
    }
  }

  async close(): Promise<void> {
    await this.#client.shutdown();
  }
}

function clientOf(options: CqlConnectOptions, timeoutMs: number): Client {
  const { credentials, tls } = options;
  const setupTimeoutMs = Math.max(timeoutMs, SETUP_TIMEOUT_MS_MIN);
  return new Client({
    contactPoints: [...options.contactPoints],
    localDataCenter: options.localDataCenter,
    ...(credentials === undefined ? {} : { credentials: { ...credentials } }),
    ...(tls === undefined ? {} : { sslOptions: nodeTlsOptions(tls) }),
    encoding: { useBigIntAsLong: true, map: Map, copyBuffer: false, useUndefinedAsUnset: true },
    policies: {
      retry: new policies.retry.FallthroughRetryPolicy(),
      reconnection: new policies.reconnection.ExponentialReconnectionPolicy(
        RECONNECT_MS_MIN,
        RECONNECT_MS_MAX,
        false,
      ),
    },
    socketOptions: { readTimeout: setupTimeoutMs, connectTimeout: setupTimeoutMs },
  });
}

/** Connects to the cluster; no keyspace is needed yet. */
export async function connectCql(options: CqlConnectOptions): Promise<CqlSession> {
  checkConnectOptions(options);
  const timeoutMs = options.timeoutMs ?? STORE_TIMEOUT_MS_DEFAULT;
  const client = clientOf(options, timeoutMs);
  try {
    const session = new DriverSession(client, options, timeoutMs);
    await client.connect();
    return session;
  } catch (cause) {
    await client.shutdown();
    throw await connectError(cause, options);
  }
}
