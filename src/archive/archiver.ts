/**
 * The history archiver (R3.3, D14, D15): a member of a consumer group that brings the store to what the log says.
 *
 *     batch ─ judge ─ message_record (events, then INSERTs) ─ message_index ─ park poison ─▶ offsets committed
 *
 * The port commits a batch's offsets after the handler, so a crash anywhere leaves the batch to be repeated, and a
 * repetition changes nothing (row-archiver.ts). Batches are bounded by the port, writes under way by a limit here. The
 * rows of a batch are written side by side, each message's records together; timestamps make the order irrelevant.
 *
 * A store that fails is waited for, as long as it takes; no record is skipped for it. A record that is at fault itself
 * is parked with its reason: what no store can take (archive-work.ts), what names another message, and what this store
 * refuses while it takes the repetition of a row that it took before, which shows that it is the record and not the
 * store. Without such a row the refusal is waited out, too. A parking place that fails is waited for as a
 * store is, and told apart from it.
 *
 * An abort ends it well: the batch under way is finished and committed, or, while the store fails, left as it is.
 */
import { type ErrorCode, MailjoinError } from '../domain/errors.js';
import { ARCHIVE_WRITES_IN_FLIGHT_MAX } from '../domain/limits.js';
import type { Coordinates, MessageRecord } from '../domain/message.js';
import type { LogEntry, LogPosition, LogReader } from '../domain/write-ports.js';
import { type ArchiveTotals, noTotals } from './archive-totals.js';
import { archiveWorkOf, type Poison, type RowChange, type RowWork } from './archive-work.js';
import { boundedParallel } from './bounded-parallel.js';
import type { ParkingLot } from './parking-file.js';
import { isUnanswered, Patience, type PatienceOptions, Stopped } from './patience.js';
import { type ChangeOutcome, RowArchiver, type RowArchiverPorts } from './row-archiver.js';

export interface ArchiverOptions extends RowArchiverPorts, Pick<PatienceOptions, 'sleep' | 'random'> {
  /** With `ends`, how far behind a run up to an end left off is asked once more; else it is what was told last. */
  readonly log: Pick<LogReader, 'consume'> & Partial<Pick<LogReader, 'ends'>>;
  readonly group: string;
  readonly parking: ParkingLot;
  /** Larger rows are parked: the store would not take them. */
  readonly rowBytesMax: number;
  /** Is told of every attempt that the store failed, by its code. */
  readonly onRetry?: ((code: ErrorCode) => void) | undefined;
  /** Is told of every failure of the log that is waited out. */
  readonly onLogFailure?: ((error: unknown) => void) | undefined;
  /** Is told of every attempt to park that failed. */
  readonly onParkingFailure?: ((error: unknown) => void) | undefined;
  /** Is told of every parked record. */
  readonly onParked?: ((poison: Poison) => void) | undefined;
}

/** A message whose row has been written and whose index row is to come. */
interface WrittenMessage {
  readonly where: Coordinates;
  readonly record: MessageRecord;
}

export class Archiver {
  readonly #options: ArchiverOptions;
  readonly #rows: RowArchiver;
  readonly #patience: Patience;
  readonly #parkingPatience: Patience;
  readonly #totals = noTotals();
  /** A row that the store took: repeating it shows whether it still takes any. */
  #taken: WrittenMessage | undefined;

  constructor(options: ArchiverOptions) {
    this.#options = options;
    this.#rows = new RowArchiver(options);
    this.#patience = new Patience({ ...options, onFailure: (error) => this.#onFailure(error) });
    const onFailure = (error: unknown): void => options.onParkingFailure?.(error);
    this.#parkingPatience = new Patience({ ...options, onFailure });
  }

  totals(): ArchiveTotals {
    return { ...this.#totals };
  }

  /**
   * Archives until the signal aborts, or until all that lies before `until` is archived. With several members in the
   * group each ends for itself: when it has passed the ends, or nothing is left to hand over. Fails with LOG_UNAVAILABLE.
   */
  async run(signal: AbortSignal, until?: readonly LogPosition[]): Promise<void> {
    const reached = new AbortController();
    const ending = AbortSignal.any([signal, reached.signal]);
    const left = new Map(until?.map(({ partition, offset }) => [partition, offset]));
    const passed = new Map<number, bigint>();
    for (const [partition, offset] of left) if (offset === 0n) left.delete(partition);
    const endWhen = (done: boolean): void => {
      if (until !== undefined && done) reached.abort();
    };
    endWhen(left.size === 0);
    try {
      await this.#options.log.consume({
        group: this.#options.group,
        signal: ending,
        // An end that was reached lets the batch under way be finished; only the caller's stop interrupts a wait.
        onEntries: async (entries) => {
          await this.#archiveBatch(entries, signal);
          for (const { partition, offset } of entries) {
            passed.set(partition, offset + 1n);
            if (offset + 1n >= (left.get(partition) ?? offset + 2n)) left.delete(partition);
          }
          endWhen(left.size === 0);
        },
        onFailure: this.#options.onLogFailure,
        onLag: (lag) => {
          this.#totals.lag = lag;
          endWhen(lag === 0n);
        },
      });
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    if (until !== undefined && left.size === 0) this.#totals.lag = await this.#lagBehind(passed);
  }

  /** What was told last may be older than the last batches; only a run that passed every end knows where it stands. */
  async #lagBehind(passed: ReadonlyMap<number, bigint>): Promise<bigint | undefined> {
    const { log } = this.#options;
    if (log.ends === undefined) return this.#totals.lag;
    const ends = await log.ends().catch(() => undefined);
    if (ends === undefined) return undefined;
    const left = ends.map(({ partition, offset }) => offset - (passed.get(partition) ?? 0n));
    return left.reduce((sum, each) => (each > 0n ? sum + each : sum), 0n);
  }

  async #archiveBatch(entries: readonly LogEntry[], signal: AbortSignal): Promise<void> {
    const { rows, poison, passed } = archiveWorkOf(entries, this.#options.rowBytesMax);
    const parked: Poison[] = [...poison];
    const written: WrittenMessage[] = [];
    await boundedParallel(rows, ARCHIVE_WRITES_IN_FLIGHT_MAX, (row) =>
      this.#archiveRow(row, signal, written, parked),
    );
    await boundedParallel(written, ARCHIVE_WRITES_IN_FLIGHT_MAX, ({ where, record }) =>
      this.#patience.run(() => this.#rows.index(where, record), signal),
    );
    await this.#park(parked, signal);
    const totals = this.#totals;
    totals.records += entries.length;
    totals.passed += passed;
    for (const { value } of entries) totals.bytes += value.length;
  }

  async #archiveRow(
    row: RowWork,
    signal: AbortSignal,
    written: WrittenMessage[],
    parked: Poison[],
  ): Promise<void> {
    let outcomes: readonly ChangeOutcome[];
    try {
      outcomes = await this.#patience.run(
        () => this.#rows.archive(row),
        signal,
        (error) => this.#isRecordsFault(error),
      );
    } catch (error) {
      if (error instanceof Stopped) throw error;
      const { where, changes } = row;
      const [first] = changes;
      if (changes.length === 1 && first !== undefined) parked.push(refused(first, error));
      // Which of the row's records it is shows when each is tried alone.
      else {
        for (const change of changes) {
          await this.#archiveRow({ where, changes: [change] }, signal, written, parked);
        }
      }
      return;
    }
    for (const [index, change] of row.changes.entries()) {
      const outcome = outcomes[index];
      if (outcome === 'mismatch') {
        const reason = 'the row at its coordinates is another message';
        parked.push({ entry: change.entry, code: 'MESSAGE_MISMATCH', reason });
      } else if (outcome === 'expired' || outcome === 'shown') this.#totals[outcome]++;
      else if (change.kind === 'event') this.#totals.events++;
      else {
        this.#totals.messages++;
        this.#taken = { where: row.where, record: change.record };
        written.push(this.#taken);
      }
    }
  }

  /** True when the store refuses this record and takes others. */
  async #isRecordsFault(error: unknown): Promise<boolean> {
    const taken = this.#taken;
    if (isUnanswered(error) || taken === undefined) return false;
    try {
      return (await this.#rows.insert(taken.where, taken.record)) === 'written';
    } catch {
      return false;
    }
  }

  async #park(parked: readonly Poison[], signal: AbortSignal): Promise<void> {
    const unkept = await this.#parkingPatience.run(() => this.#options.parking.park(parked), signal);
    this.#totals.parked += parked.length;
    this.#totals.unkept += unkept;
    for (const poison of parked) this.#options.onParked?.(poison);
  }

  #onFailure(error: unknown): void {
    this.#totals.retries++;
    this.#options.onRetry?.(codeOf(error));
  }
}

function refused({ entry }: RowChange, error: unknown): Poison {
  // Only our own errors are known to have no content in their text.
  const reason = error instanceof MailjoinError ? error.message : 'an internal check failed';
  return { entry, code: codeOf(error), reason };
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof MailjoinError ? error.code : 'INTERNAL';
}
