/**
 * What a writing command prints of its items: lines of JSON as they settle, or one table at the end. An error without a
 * code is a bug: its stack, which holds no content, goes to the log. Output that is not taken keeps no item from being
 * written: what was given to the command is done, whoever reads about it.
 */
import type { Log } from '../server/log.js';
import { OutputError } from './line-output.js';
import { textTable } from './text-table.js';
import type { ItemOutcome } from './write-items.js';

/** Values as they are printed: 64-bit numbers as text. */
export type Row = Readonly<Record<string, string | Readonly<Record<string, number>> | undefined>>;

export interface ItemRows<T, R> {
  /** What names the item, in a success and in a failure. */
  readonly itemRow: (item: T) => Row;
  readonly resultRow: (result: R) => Row;
  /** Past participle for the table: "committed". */
  readonly done: string;
}

export interface ItemOutputOptions {
  readonly asJson: boolean;
  readonly print: (line: string) => void;
  readonly log: Log;
}

export class ItemOutput<T, R> {
  readonly #rows: ItemRows<T, R>;
  readonly #with: ItemOutputOptions;
  readonly #table: Row[] = [];
  #failure: OutputError | undefined;

  constructor(rows: ItemRows<T, R>, options: ItemOutputOptions) {
    this.#rows = rows;
    this.#with = options;
  }

  add({ line, item, result, error }: ItemOutcome<T, R>): void {
    const { asJson, log } = this.#with;
    if (error?.code === 'INTERNAL') {
      const { cause } = error;
      log.write('error', 'bug', { stack: cause instanceof Error ? cause.stack : typeof cause });
    }
    const fields = {
      ...(item === undefined ? {} : this.#rows.itemRow(item)),
      ...(result === undefined ? {} : this.#rows.resultRow(result)),
    };
    if (asJson) {
      const { code, message, retryable } = error ?? {};
      const failure = error === undefined ? {} : { error: { code, message, retryable } };
      this.#print(JSON.stringify({ line, ...fields, ...failure }));
    } else {
      const outcome = error === undefined ? this.#rows.done : `${error.code}: ${error.message}`;
      this.#table.push({ line: String(line), ...fields, outcome });
    }
  }

  /** Prints the table; the outcome comes last, its text may be long. */
  end(): void {
    if (this.#table.length === 0) return;
    const names = new Set(this.#table.flatMap((row) => Object.keys(row)));
    names.delete('outcome');
    const headings = [...names, 'outcome'];
    const rows = this.#table.map((row) => headings.map((name) => cellText(row[name])));
    this.#print(textTable(headings, rows));
  }

  /** Why what was printed has not all arrived. A reader that left is no failure: the items' outcomes decide alone. */
  get failure(): OutputError | undefined {
    return this.#failure?.isReaderGone === true ? undefined : this.#failure;
  }

  #print(line: string): void {
    if (this.#failure !== undefined) return;
    try {
      this.#with.print(line);
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      this.#failure = error;
    }
  }
}

function cellText(value: Row[string]): string {
  if (value === undefined || typeof value === 'string') return value ?? '';
  return Object.entries(value)
    .map(([key, count]) => `${key} ${count}`)
    .join(' ');
}
