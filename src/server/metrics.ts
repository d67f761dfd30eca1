/**
 * The process's metrics (Prometheus text at /metrics).
 *
 * Every label has a fixed, small set of values, so the number of series never grows with tenants, conversations or
 * callers (B51): kinds, result codes, error codes, stages, statement shapes. Gauges of other parts are read from
 * `MetricSources` when the page is asked for, so nothing is counted twice.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { JoinOutcome } from '../codec/join-outcome.js';
import type { Receipt, ReceiptCounts } from '../codec/receipt.js';
import { ERROR_TABLE, type ErrorCode } from '../domain/errors.js';
import type { BodyCacheStats } from '../domain/ports.js';
import { RESULT_CODE_COUNT, ResultCode, resultName } from '../domain/result.js';
import type { IndexLookup } from '../history/message-lookup.js';
import { type Stage, StageHistogram } from './stage-histogram.js';

/** Figures that other parts keep themselves. */
export interface MetricSources {
  cache(): BodyCacheStats;
  joins(): { readonly batches: number; readonly flights: number; readonly reads: number };
  keys(): {
    readonly entries: number;
    readonly hits: number;
    readonly misses: number;
    readonly unwrapCalls: number;
    readonly unwrapFailures: number;
    /** Since destroyed keys were last looked for. */
    readonly watcherAgeMs: number;
    readonly watcherFailures: number;
  };
  opener(): {
    readonly inlineJobs: number;
    readonly workerJobs: number;
    readonly repeats: number;
    readonly bytesInFlight: number;
  };
  /** Where a log is followed. */
  log?: (() => LogFigures) | undefined;
  inFlight(): {
    readonly batches: number;
    readonly requestBytes: number;
    readonly responseBytes: number;
    readonly connections: number;
  };
}

/** Figures of the log's follower. */
export interface LogFigures {
  readonly behindRecords: number;
  readonly behindMs: number;
  readonly isCurrent: boolean;
  readonly recalls: number;
  readonly edits: number;
  readonly reactions: number;
  readonly keysDestroyed: number;
  readonly messages: number;
  readonly unknown: number;
  readonly skipped: number;
  readonly gaps: number;
  readonly failures: number;
  readonly cacheDrops: number;
  readonly warmed: number;
  readonly dropped: number;
}

const LOG_COUNTERS: readonly (readonly [keyof LogFigures, string, string])[] = [
  ['gaps', 'log_gaps', 'Times that records of the log were gone before they were read'],
  ['failures', 'log_failures', 'Reads of the log, and questions for its end, that failed'],
  [
    'cacheDrops',
    'log_cache_drops',
    'Times that the cache was dropped: at the start, behind the log, at gaps',
  ],
  ['warmed', 'warmed', 'Messages given to the cache from the log'],
  ['dropped', 'warm_dropped', 'Messages not given to the cache, since too many waited'],
];
/** What a record of the log was, by its label. */
const LOG_RECORD_KINDS: readonly (readonly [string, keyof LogFigures])[] = [
  ['message', 'messages'],
  ['recall', 'recalls'],
  ['edit', 'edits'],
  ['reactions', 'reactions'],
  ['key_destroyed', 'keysDestroyed'],
  ['unknown', 'unknown'],
  ['skipped', 'skipped'],
];

/** What a request was for: the kinds of the join, and the other routes. */
const REQUEST_NAMES = ['MAILBOX_BATCH', 'PUSH_EVENTS', 'HISTORY', 'MESSAGE', 'LOOKUP'] as const;
export type RequestName = (typeof REQUEST_NAMES)[number];
/** What a read of message_index came to. */
const INDEX_LOOKUPS: readonly IndexLookup[] = ['found', 'missing', 'failed'];
/** The name of a request that was refused before its kind was known. */
const NAME_NONE = 'NONE';

/** What the join's receipt says of a stage. */
const STAGE_OF_RECEIPT: readonly (readonly [Stage, keyof ReceiptCounts])[] = [
  ['decode', 'decodeMicros'],
  ['plan', 'planMicros'],
  ['read', 'readMicros'],
  ['key', 'keyMicros'],
  ['open', 'openMicros'],
  ['total', 'totalMicros'],
];

const CACHE_COUNTERS: readonly (readonly [keyof BodyCacheStats, string])[] = [
  ['hits', 'Look-ups answered from the cache'],
  ['misses', 'Look-ups that found no body to serve'],
  ['published', 'Bodies made visible'],
  ['evicted', 'Bodies that gave way to others'],
  ['expired', 'Bodies found past their time'],
  ['removed', 'Bodies dropped by invalidation, floor or key destruction'],
  ['refused', 'Bodies that got no slot'],
];
const CACHE_GAUGES: readonly (readonly [keyof BodyCacheStats, string, string])[] = [
  ['regionBytes', 'region_bytes', 'Size of the shared region'],
  ['usedBytes', 'used_bytes', 'Bytes of published bodies with their headers'],
  ['bodies', 'bodies', 'Published bodies'],
  ['reserved', 'reserved_slots', 'Slots that a flight is filling'],
  ['floors', 'floors', 'Installed revision floors'],
];

export class Metrics {
  private readonly registry = new Registry();
  /** Counted in plain memory, since they are touched by every batch; prom-client is told at the page. */
  private readonly requestTotals = new Map<string, Map<string, number>>();
  private readonly resultTotals: Readonly<Record<RequestName, Float64Array>> = {
    MAILBOX_BATCH: new Float64Array(RESULT_CODE_COUNT),
    PUSH_EVENTS: new Float64Array(RESULT_CODE_COUNT),
    HISTORY: new Float64Array(RESULT_CODE_COUNT),
    MESSAGE: new Float64Array(RESULT_CODE_COUNT),
    LOOKUP: new Float64Array(RESULT_CODE_COUNT),
  };
  private readonly planned: Counter<'shape'>;
  private readonly statements: Counter<'table' | 'shape' | 'page'>;
  private readonly rows: Counter;
  private readonly rowBytes: Counter;
  private readonly bodyBytes: Counter;
  private readonly flightsJoined: Counter;
  private readonly stages = new StageHistogram();
  private readonly failures: Counter<'code'>;
  private readonly aborted: Counter;
  private readonly dropped: Counter;
  private readonly historyAlerts: Counter<'alert'>;
  private readonly indexLookups: Counter<'outcome'>;

  constructor() {
    const registers = [this.registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
      new Counter({ name: `mailjoin_${name}`, help, labelNames: [...labelNames], registers });
    this.exportTotals();
    this.planned = counter('planned_statements_total', 'Statements on message_record that joins planned', [
      'shape',
    ]);
    this.statements = counter('store_statements_total', 'Requests sent to the store (R2.2, S-1)', [
      'table',
      'shape',
      'page',
    ]);
    this.rows = counter('store_rows_total', 'Rows read, surplus included', []);
    this.rowBytes = counter('store_row_bytes_total', 'Payload and metadata bytes of rows read', []);
    this.bodyBytes = counter('response_body_bytes_total', 'Bytes of bodies sent', []);
    this.flightsJoined = counter('flights_joined_total', 'Messages another batch was fetching already', []);
    this.failures = counter('failures_total', 'Failures beneath a batch', ['code']);
    this.aborted = counter('aborted_total', 'Requests whose caller went away', []);
    this.historyAlerts = counter(
      'history_alerts_total',
      'Pages that a hole ended, and heads far behind (S-3)',
      ['alert'],
    );
    for (const alert of ['hole', 'head_behind']) this.historyAlerts.inc({ alert }, 0);
    this.indexLookups = counter(
      'index_lookups_total',
      'Reads of message_index, for administration only: a rate of the order of the message rate is a defect (R2.2)',
      ['outcome'],
    );
    for (const outcome of INDEX_LOOKUPS) this.indexLookups.inc({ outcome }, 0);
    this.dropped = counter('slow_readers_dropped_total', 'Responses dropped, taken too slowly', []);
  }

  /** Adds the figures of other parts and of the Node.js process. Once per process. */
  observe(sources: MetricSources): void {
    const registers = [this.registry];
    const gauge = (name: string, help: string, read: () => number) => {
      new Gauge({
        name: `mailjoin_${name}`,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    };
    gauge('batches_in_flight', 'Batches admitted and not yet taken', () => sources.inFlight().batches);
    gauge('request_bytes_in_flight', 'Bytes of request bodies held', () => sources.inFlight().requestBytes);
    gauge('response_bytes_in_flight', 'Bytes counted for responses', () => sources.inFlight().responseBytes);
    gauge('connections', 'Open connections', () => sources.inFlight().connections);
    gauge('joins_in_flight', 'Batches inside the join', () => sources.joins().batches);
    gauge('flights', 'Messages being fetched', () => sources.joins().flights);
    gauge('group_reads_in_flight', 'Group reads sent and not answered', () => sources.joins().reads);
    for (const [field, name, help] of CACHE_GAUGES) {
      gauge(`cache_${name}`, help, () => Number(sources.cache()[field]));
    }
    gauge('dek_cache_entries', 'Opened keys kept', () => sources.keys().entries);
    gauge('key_watch_age_seconds', 'Since destroyed keys were looked for', () => {
      return sources.keys().watcherAgeMs / 1000;
    });
    gauge('open_bytes_in_flight', 'Sealed bytes with the workers', () => sources.opener().bytesInFlight);
    gauge('cache_paused', '1 while nothing new is cached', () => (sources.cache().paused ? 1 : 0));
    const counter = (name: string, help: string, read: () => number) => {
      new Counter({
        name: `mailjoin_${name}_total`,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    };
    for (const [field, help] of CACHE_COUNTERS) {
      counter(`cache_${field}`, help, () => Number(sources.cache()[field]));
    }
    counter('dek_cache_hits', 'Keys answered from the cache', () => sources.keys().hits);
    counter('dek_cache_misses', 'Keys that had to be resolved', () => sources.keys().misses);
    counter('unwrap_calls', 'Calls of the key provider', () => sources.keys().unwrapCalls);
    counter('unwrap_failures', 'Calls of the key provider that failed', () => sources.keys().unwrapFailures);
    counter('key_watch_failures', 'Looks for destroyed keys that failed', () => {
      return sources.keys().watcherFailures;
    });
    counter('open_inline_jobs', 'Groups opened on the main thread', () => sources.opener().inlineJobs);
    counter('open_worker_jobs', 'Groups opened by workers', () => sources.opener().workerJobs);
    counter('open_repeats', 'Groups opened again since their worker died', () => sources.opener().repeats);
    const { log } = sources;
    if (log !== undefined) {
      gauge('log_behind_records', 'Records of the log not applied yet', () => log().behindRecords);
      gauge('log_behind_seconds', 'Since everything in the log was applied', () => log().behindMs / 1000);
      gauge('log_current', '1 while events are heard in time', () => (log().isCurrent ? 1 : 0));
      for (const [field, name, help] of LOG_COUNTERS) counter(name, help, () => Number(log()[field]));
      this.exportLogRecords(log);
    }
    collectDefaultMetrics({ register: this.registry });
  }

  /** Counts a request of a posting route; `code` is OK or an error's. */
  countRequest(known: RequestName | undefined, code: 'OK' | ErrorCode): void {
    const name = known ?? NAME_NONE;
    let codes = this.requestTotals.get(name);
    if (codes === undefined) {
      codes = new Map();
      this.requestTotals.set(name, codes);
    }
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }

  /** Counts what a batch brought and cost. */
  countBatch(name: RequestName, outcome: JoinOutcome): void {
    const { entries, receipt } = outcome;
    const totals = this.resultTotals[name];
    for (let index = 0; index < entries.count; index++) {
      const code = entries.code[index] as number;
      totals[code] = (totals[code] as number) + 1;
    }
    this.countReads(receipt);
    for (const [stage, field] of STAGE_OF_RECEIPT) this.observeStage(stage, receipt[field]);
  }

  /** Counts the result of a request for one message. */
  countResult(name: RequestName, code: number): void {
    const totals = this.resultTotals[name];
    totals[code] = (totals[code] as number) + 1;
  }

  observeStage(stage: Stage, micros: number): void {
    this.stages.observe(stage, micros);
  }

  /** Counts a failure beneath a batch; what is no code of the error table counts as INTERNAL. */
  countFailure(code: string): void {
    this.failures.inc({ code: Object.hasOwn(ERROR_TABLE, code) ? code : 'INTERNAL' });
  }

  /** Counts a request that went to the store: tables and shapes are fixed sets of the schema. */
  countStatement(table: string, shape: string, isFurtherPage: boolean): void {
    this.statements.inc({ table, shape, page: isFurtherPage ? 'further' : 'first' });
  }

  /** S-3's alert: a fixed set of words. */
  countHistoryAlert(alert: string): void {
    this.historyAlerts.inc({ alert });
  }

  /** R2.2's alarm: every read of message_index. */
  countIndexLookup(outcome: IndexLookup): void {
    this.indexLookups.inc({ outcome });
  }

  countAborted(): void {
    this.aborted.inc();
  }

  countDropped(): void {
    this.dropped.inc();
  }

  /** The page of /metrics and its content type. */
  async page(): Promise<{ readonly contentType: string; readonly text: string }> {
    const text = await this.registry.metrics();
    return { contentType: this.registry.contentType, text: `${text}\n${this.stages.text()}` };
  }

  private exportTotals(): void {
    const registers = [this.registry];
    const { requestTotals, resultTotals } = this;
    new Counter({
      name: 'mailjoin_requests_total',
      help: 'Requests of the joining and paging routes by outcome',
      labelNames: ['kind', 'code'],
      registers,
      collect() {
        this.reset();
        for (const [kind, codes] of requestTotals) {
          for (const [code, count] of codes) this.inc({ kind, code }, count);
        }
      },
    });
    new Counter({
      name: 'mailjoin_entries_total',
      help: 'Entries by result',
      labelNames: ['kind', 'result'],
      registers,
      collect() {
        this.reset();
        for (const kind of REQUEST_NAMES) {
          for (let code: number = ResultCode.OK; code < RESULT_CODE_COUNT; code++) {
            this.inc({ kind, result: resultName(code) }, resultTotals[kind][code]);
          }
        }
      },
    });
  }

  private exportLogRecords(log: () => LogFigures): void {
    new Counter({
      name: 'mailjoin_log_records_total',
      help: 'Records of the log by what they were; skipped ones could not be decoded or applied',
      labelNames: ['kind'],
      registers: [this.registry],
      collect() {
        this.reset();
        const figures = log();
        for (const [kind, field] of LOG_RECORD_KINDS) this.inc({ kind }, Number(figures[field]));
      },
    });
  }

  private countReads(receipt: Receipt): void {
    this.bodyBytes.inc(receipt.bodyBytes);
    if (receipt.flightsJoined > 0) this.flightsJoined.inc(receipt.flightsJoined);
    if (receipt.groups === 0 && receipt.rangeStatements === 0) return;
    this.planned.inc({ shape: 'range' }, receipt.rangeStatements);
    this.planned.inc({ shape: 'covering' }, receipt.coveringStatements);
    this.planned.inc({ shape: 'in' }, receipt.inStatements);
    this.rows.inc(receipt.rows);
    this.rowBytes.inc(receipt.rowBytes);
  }
}
