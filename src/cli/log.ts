/**
 * The log: one line of JSON per event on stderr. Fields are names, codes and counts; nothing in them is a payload, a
 * key or a password.
 */
import type { Log, LogFields, LogLevel } from '../server/log.js';

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** Lines of one event in one second; further ones are counted into the next that is written. */
const REPEATS_PER_SECOND_MAX = 10;

interface Repeats {
  second: number;
  written: number;
  skipped: number;
}

export class JsonLog implements Log {
  private readonly least: number;
  private readonly writeLine: (line: string) => void;
  private readonly epochMs: () => number;
  private readonly repeats = new Map<string, Repeats>();

  constructor(
    level: LogLevel,
    writeLine: (line: string) => void = (line) => process.stderr.write(line),
    epochMs: () => number = Date.now,
  ) {
    this.least = RANK[level];
    this.writeLine = writeLine;
    this.epochMs = epochMs;
  }

  write(level: LogLevel, event: string, fields: LogFields = {}): void {
    if (RANK[level] < this.least) return;
    const skipped = this.admit(event);
    if (skipped === undefined) return;
    const time = new Date(this.epochMs()).toISOString();
    const more = skipped > 0 ? { skipped } : {};
    this.writeLine(`${JSON.stringify({ time, level, event, ...fields, ...more })}\n`);
  }

  /** How many lines of this event were left out before this one; undefined when this one is left out as well. */
  private admit(event: string): number | undefined {
    const second = Math.floor(this.epochMs() / 1000);
    let repeats = this.repeats.get(event);
    if (repeats === undefined) {
      repeats = { second, written: 0, skipped: 0 };
      this.repeats.set(event, repeats);
    }
    if (repeats.second !== second) {
      repeats.second = second;
      repeats.written = 0;
    }
    if (repeats.written >= REPEATS_PER_SECOND_MAX) {
      repeats.skipped++;
      return undefined;
    }
    repeats.written++;
    const { skipped } = repeats;
    repeats.skipped = 0;
    return skipped;
  }
}
