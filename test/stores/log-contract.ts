/**
 * What every log must do alike: run for the embedded log and for a real Kafka. Only the ports are used. A log under test
 * can be opened several times at once, as several processes would have it.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import type { LogEntry, LogPosition, LogReader, Outbox } from '../../src/domain/write-ports.js';
import { until } from './fixtures.js';

export type Log = Outbox & LogReader;

/** A log that exists for the whole file. */
export interface LogUnderTest {
  /** Opens the same log once more; the test closes it. */
  open(): Promise<Log>;
  /** How long a group may take to give a member's partitions to another, also when the member was killed. */
  readonly takeoverMs: number;
  readonly partitions: number;
  /** What log-member-process.mjs needs to open it, before the group. */
  readonly memberArgs: readonly string[];
  close(): Promise<void>;
}

/** Collects what a follower or a group member is given, until it is stopped. */
export class Collected {
  readonly entries: LogEntry[] = [];
  readonly #stop = new AbortController();
  #done: Promise<void> = Promise.resolve();

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  readonly onEntries = async (entries: readonly LogEntry[]): Promise<void> => {
    this.entries.push(...entries);
  };

  /** Runs a read or consume until stop(). */
  run(task: (collected: Collected) => Promise<void>): this {
    this.#done = task(this);
    // A test that never looks at the outcome must not end the process.
    this.#done.catch(() => {});
    return this;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  texts(): string[] {
    return this.entries.map(({ value }) => Buffer.from(value).toString());
  }

  has(texts: readonly string[]): boolean {
    const seen = new Set(this.texts());
    return texts.every((text) => seen.has(text));
  }
}

export function follow(log: LogReader, from: readonly LogPosition[]): Collected {
  return new Collected().run(({ onEntries, signal }) => log.read({ from, onEntries, signal }));
}

export function member(log: LogReader, group: string): Collected {
  return new Collected().run(({ onEntries, signal }) => log.consume({ group, onEntries, signal }));
}

/** All that lies between two states of the log. */
export async function between(
  log: LogReader,
  from: readonly LogPosition[],
  to: readonly LogPosition[],
): Promise<LogEntry[]> {
  const collected = new Collected();
  await log.read({ from, until: to, onEntries: collected.onEntries, signal: collected.signal });
  return collected.entries;
}

export function text(entry: { readonly value: Uint8Array }): string {
  return Buffer.from(entry.value).toString();
}

/** Appends texts one after the other under a key. */
export async function appendAll(log: Outbox, texts: readonly string[], key = randomBytes(16)): Promise<void> {
  await Promise.all(texts.map((value) => log.append({ key, value: Buffer.from(value) })));
}

export function named(name: string, count: number): string[] {
  const run = randomBytes(3).toString('hex');
  return Array.from({ length: count }, (_, index) => `${name}-${run}-${index}`);
}

export function freshGroup(): string {
  return `group-${randomBytes(6).toString('hex')}`;
}

const MEMBER_SCRIPT = fileURLToPath(new URL('./log-member-process.mjs', import.meta.url));

/** A member in a process of its own (needs the built files): its lines so far, and SIGKILL. */
function memberProcess(args: readonly string[]): { lines(): string[]; kill(): Promise<void> } {
  const child = spawn(process.execPath, [MEMBER_SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  return {
    lines: () => output.split('\n').slice(0, -1),
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The code that a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof MailjoinError) return error.code;
    throw error;
  }
  return 'resolved';
}

export function logContract(name: string, make: () => Promise<LogUnderTest>): void {
  describe(`log contract: ${name}`, { timeout: 60_000 }, () => {
    let made: LogUnderTest | undefined;
    let log: Log;
    const under = (): LogUnderTest => {
      if (made === undefined) throw new Error('the log did not open');
      return made;
    };
    const reopened = async (): Promise<Log> => {
      const other = await under().open();
      onTestFinished(() => other.close());
      return other;
    };
    beforeAll(async () => {
      made = await make();
      log = await made.open();
    }, 180_000);
    afterAll(async () => {
      await log?.close();
      await made?.close();
    }, 60_000);

    it('B50 an oversized record is refused alone, its neighbours are kept', async () => {
      const start = await log.ends();
      const key = randomBytes(16);
      const outcomes = await Promise.allSettled([
        log.append({ key, value: Buffer.alloc(1024, 'a') }),
        log.append({ key, value: Buffer.alloc(log.recordBytesMax + 1 - key.length) }),
        log.append({ key, value: Buffer.alloc(1024, 'b') }),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'RECORD_TOO_LARGE' });
      const entries = await between(log, start, await log.ends());
      expect(entries.map((entry) => text(entry)[0])).toEqual(['a', 'b']);
    });

    it('B50 sizes of 1 KiB, 2 MiB, 1 KiB and the largest record are taken and come back whole', async () => {
      const start = await log.ends();
      const key = randomBytes(16);
      const values = [1024, 2 * 1024 * 1024, 1024, log.recordBytesMax - key.length].map((size, index) =>
        Buffer.alloc(size, 65 + index),
      );
      await Promise.all(values.map((value) => log.append({ key, value })));
      const entries = await between(log, start, await log.ends());
      expect(entries.map(({ value }) => value.length)).toEqual(values.map(({ length }) => length));
      for (const [index, entry] of entries.entries()) {
        expect(Buffer.compare(entry.value, values[index] as Buffer)).toBe(0);
      }
    });

    it('B50 20 concurrent appends under one key have 20 places, in call order, and are all in the log', async () => {
      const start = await log.ends();
      const key = randomBytes(16);
      const texts = named('concurrent', 20);
      const places = await Promise.all(texts.map((each) => log.append({ key, value: Buffer.from(each) })));
      expect(new Set(places.map(({ partition }) => partition)).size).toBe(1);
      const offsets = places.map(({ offset }) => offset);
      expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => (a < b ? -1 : 1)));
      const entries = await between(await reopened(), start, await log.ends());
      expect(entries.map(text)).toEqual(texts);
      expect(entries.map(({ offset }) => offset)).toEqual(offsets);
    });

    it('keeps the order of each of many keys that are appended at once', async () => {
      const start = await log.ends();
      const keys = Array.from({ length: 30 }, () => randomBytes(16));
      const appended = keys.flatMap((key, which) =>
        Array.from({ length: 10 }, (_, index) => ({ key, value: Buffer.from(`${which} ${index}`), which })),
      );
      // Round by round, so that the keys interleave.
      appended.sort((a, b) => Number(text(a).split(' ')[1]) - Number(text(b).split(' ')[1]));
      await Promise.all(appended.map((record) => log.append(record)));
      const entries = await between(log, start, await log.ends());
      expect(entries).toHaveLength(300);
      for (const which of keys.keys()) {
        const own = entries.map((entry) => text(entry).split(' ')).filter(([key]) => key === String(which));
        expect(own.map(([, index]) => index)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
      }
    });

    it('tells its ends, and when it took a record', async () => {
      const before = await log.ends();
      expect(before.map(({ partition }) => partition)).toEqual([...Array(under().partitions).keys()]);
      const sentAtMs = Date.now();
      const place = await log.append({ key: randomBytes(16), value: Buffer.from('one') });
      expect(before.find(({ partition }) => partition === place.partition)?.offset).toBe(place.offset);
      const after = await log.ends();
      const [entry] = await between(log, before, after);
      expect(entry).toMatchObject(place);
      expect(Math.abs((entry?.appendedAtMs ?? 0) - sentAtMs)).toBeLessThan(10_000);
    });

    it('a read up to the ends hands over exactly what lies before them, and nothing when there is nothing', async () => {
      const start = await log.ends();
      expect(await between(log, start, start)).toEqual([]);
      const texts = named('before', 5);
      await appendAll(log, texts);
      const end = await log.ends();
      await appendAll(log, named('after', 5));
      expect((await between(log, start, end)).map(text)).toEqual(texts);
    });

    it('a read from no position starts at the beginning', async () => {
      const collected = new Collected();
      const { onEntries, signal } = collected;
      await log.read({ from: [], until: await log.ends(), onEntries, signal });
      const first = collected.entries.find(({ partition }) => partition === 0);
      expect(first?.offset).toBe(0n);
    });

    it('follows what other openings of the log append, until its signal aborts', async () => {
      const follower = follow(await reopened(), await log.ends());
      const texts = named('followed', 50);
      await appendAll(log, texts.slice(0, 25));
      await until(async () => follower.has(texts.slice(0, 25)));
      await appendAll(log, texts.slice(25));
      await until(async () => follower.has(texts));
      await follower.stop();
      expect(follower.texts()).toEqual(texts);
    });

    it('awaits the handler before it hands over more', async () => {
      const start = await log.ends();
      const texts = named('slow', 40);
      let inHandler = 0;
      const seen: string[] = [];
      const stop = new AbortController();
      const reading = log.read({
        from: start,
        signal: stop.signal,
        onEntries: async (entries) => {
          inHandler++;
          expect(inHandler).toBe(1);
          await new Promise((resolve) => setImmediate(resolve));
          seen.push(...entries.map(text));
          inHandler--;
          if (seen.length === texts.length) stop.abort();
        },
      });
      const key = randomBytes(16);
      for (const each of texts) await log.append({ key, value: Buffer.from(each) });
      await reading;
      expect(seen).toEqual(texts);
    });

    it('a read ends with what its handler throws', async () => {
      const start = await log.ends();
      await appendAll(log, named('thrown', 1));
      const reading = log.read({
        from: start,
        signal: new AbortController().signal,
        onEntries: () => Promise.reject(new Error('of the handler')),
      });
      await expect(reading).rejects.toThrow('of the handler');
    });

    it('a group goes on where it committed, after its member stopped', async () => {
      const group = freshGroup();
      const first = member(await reopened(), group);
      const before = named('before', 10);
      await appendAll(log, before);
      await until(async () => first.has(before), under().takeoverMs);
      await first.stop();
      const after = named('after', 10);
      await appendAll(log, after);
      const second = member(await reopened(), group);
      await until(async () => second.has(after), under().takeoverMs);
      await second.stop();
      expect(second.texts().filter((each) => before.includes(each))).toEqual([]);
    });

    it('a group is given again what its handler did not finish', async () => {
      const group = freshGroup();
      const texts = named('unfinished', 3);
      await appendAll(log, texts);
      const failing = log.consume({
        group,
        signal: new AbortController().signal,
        onEntries: async (entries) => {
          if (entries.some((entry) => texts.includes(text(entry)))) throw new Error('crashed');
        },
      });
      await expect(failing).rejects.toThrow('crashed');
      const second = member(await reopened(), group);
      await until(async () => second.has(texts), under().takeoverMs);
      await second.stop();
    });

    it('a member that is killed with a record under way has it repeated by another, and nothing before it', async () => {
      const group = freshGroup();
      const key = randomBytes(16);
      const [done = '', after = ''] = named('killed', 2);
      const child = memberProcess([...under().memberArgs, group]);
      await log.append({ key, value: Buffer.from(done) });
      // Behind by nothing after it was given the record: it is committed.
      await until(async () => {
        const lines = child.lines();
        const got = lines.indexOf(`got ${done}`);
        return got >= 0 && lines.lastIndexOf('lag 0') > got;
      }, under().takeoverMs);
      const hang = `hang-${randomBytes(3).toString('hex')}`;
      await log.append({ key, value: Buffer.from(hang) });
      await until(async () => child.lines().includes(`got ${hang}`), under().takeoverMs);
      await child.kill();
      await log.append({ key, value: Buffer.from(after) });
      const other = member(await reopened(), group);
      await until(async () => other.has([hang, after]), under().takeoverMs);
      await other.stop();
      expect(other.texts()).toEqual([hang, after]);
    });

    it('tells a group how far behind it is', async () => {
      const group = freshGroup();
      await appendAll(log, named('lag', 5));
      const lags: (bigint | undefined)[] = [];
      const consumer = new Collected().run(({ onEntries, signal }) =>
        log.consume({ group, onEntries, signal, onLag: (lag) => lags.push(lag) }),
      );
      await until(async () => lags.at(-1) === 0n, under().takeoverMs);
      await consumer.stop();
      expect(lags.every((lag) => lag === undefined || lag >= 0n)).toBe(true);
    });

    it('appends behind what was there when it is opened again, and refuses once it is closed', async () => {
      const first = await under().open();
      const key = randomBytes(16);
      const one = await first.append({ key, value: Buffer.from('one') });
      await first.close();
      expect(await codeOf(first.append({ key, value: Buffer.from('late') }))).toBe('LOG_UNAVAILABLE');
      const second = await reopened();
      const two = await second.append({ key, value: Buffer.from('two') });
      expect(two).toEqual({ partition: one.partition, offset: one.offset + 1n });
    });
  });
}
