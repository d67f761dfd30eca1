// Where a follower stands, and how it says so: start, failures, gaps, hangs. The clock is the test's; probes are real.
import { expect, it, onTestFinished } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { LogFollower } from '../../src/follow/log-follower.js';
import { LogFreshness } from '../../src/follow/log-freshness.js';
import { until } from '../stores/fixtures.js';
import { ScriptedLog } from './scripted-log.js';

/** In the test's time; its fifth is the real time between two probes. */
const LAG_MS = 100;
const SETTLE_MS = 1_000;
const AGE_MS = 60_000;

interface Following {
  readonly log: ScriptedLog;
  readonly follower: LogFollower;
  readonly freshness: LogFreshness;
  readonly clock: { now: number };
  readonly applied: string[];
  readonly failures: unknown[];
  /** The cache was dropped so often. */
  drops(): number;
  isCurrent(): boolean;
}

function follow(prepare: (log: ScriptedLog) => void = () => {}): Following {
  const log = new ScriptedLog();
  prepare(log);
  const clock = { now: 1_000, nowMs: () => clock.now, epochMs: () => clock.now };
  const applied: string[] = [];
  const failures: unknown[] = [];
  let drops = 0;
  const freshness = new LogFreshness({
    clock,
    cacheAgeMs: AGE_MS,
    lagMsMax: LAG_MS,
    settleMs: SETTLE_MS,
    dropCache: () => drops++,
  });
  const follower = new LogFollower({
    log,
    events: { apply: ({ value }) => applied.push(Buffer.from(value).toString()) },
    freshness,
    clock,
    lagMsMax: LAG_MS,
    onFailure: (error) => failures.push(error),
  });
  follower.start();
  onTestFinished(() => follower.stop());
  const isCurrent = () => freshness.isCurrent(clock.now);
  return { log, follower, freshness, clock, applied, failures, drops: () => drops, isCurrent };
}

const texts = (...values: string[]) => values.map((value) => Buffer.from(value));
const unavailable = () => new MailjoinError('LOG_UNAVAILABLE');

it('a log that cannot be asked at the start: not current until it can, then from the ends of that moment', async () => {
  const { log, applied, failures, isCurrent } = follow((made) => {
    made.endsFailure = unavailable();
    made.append(...texts('before'));
  });
  await until(async () => failures.length > 0);
  expect(isCurrent()).toBe(false);
  log.append(...texts('before, too'));
  log.endsFailure = undefined;
  await until(async () => log.reads.length === 1);
  expect(isCurrent()).toBe(true);
  log.append(...texts('after'));
  await until(async () => applied.length > 0);
  expect(applied).toEqual(['after']);
});

it('a read that fails goes on from the same place: nothing is missed, nothing is dropped', async () => {
  const { log, applied, drops, failures, follower } = follow();
  await until(async () => log.reads.length === 1);
  log.append(...texts('1', '2'));
  await until(async () => applied.length === 2);
  log.failRead(unavailable());
  await until(async () => failures.length === 1);
  log.append(...texts('3'));
  await until(async () => applied.length === 3);
  expect(applied).toEqual(['1', '2', '3']);
  expect(log.reads).toEqual([0n, 2n]);
  expect(drops()).toBe(1);
  expect(follower.stats()).toMatchObject({ applied: 3, gaps: 0, failures: 1 });
});

it('ends that are not told make it late by the clock alone, though records still come', async () => {
  const { log, clock, applied, drops, freshness, isCurrent } = follow();
  await until(async () => isCurrent());
  log.endsHang = true;
  const asked = log.endsAsked;
  await until(async () => log.endsAsked > asked);
  clock.now += LAG_MS + 1;
  log.append(...texts('1'));
  await until(async () => applied.length === 1);
  expect(isCurrent()).toBe(false);
  expect(drops()).toBe(2);
  expect(freshness.ageMsMax(clock.now)).toBe(LAG_MS);
});

it('a read that hangs without an error is given up once it is late, and made again from where it stood', async () => {
  const { log, clock, applied, drops, isCurrent } = follow();
  await until(async () => isCurrent() && log.reads.length === 1);
  log.readHangs = true;
  log.append(...texts('late'));
  const asked = log.endsAsked;
  await until(async () => log.endsAsked > asked + 1);
  clock.now += LAG_MS + 1;
  expect(isCurrent()).toBe(false);
  await until(async () => log.reads.length === 2);
  log.readHangs = false;
  log.wake();
  await until(async () => isCurrent());
  expect(log.reads).toEqual([0n, 0n]);
  expect(drops()).toBeGreaterThanOrEqual(2);
  log.append(...texts('heard'));
  await until(async () => applied.includes('heard'));
  expect(applied).toEqual(['late', 'heard']);
});

it('a gap in the offsets drops the cache and lets it settle', async () => {
  const { log, clock, applied, drops, follower, freshness } = follow();
  await until(async () => log.reads.length === 1);
  clock.now += SETTLE_MS;
  await until(async () => freshness.isCurrent(clock.now));
  expect(freshness.ageMsMax(clock.now)).toBe(AGE_MS);
  const before = drops();
  log.skip(3n);
  log.append(...texts('behind the gap'));
  await until(async () => applied.length === 1);
  expect(follower.stats().gaps).toBe(1);
  expect(drops()).toBe(before + 1);
  expect(freshness.ageMsMax(clock.now)).toBe(LAG_MS);
});

it('a log that was replaced is followed from its ends, and the cache is dropped', async () => {
  const { log, applied, drops } = follow((made) => made.append(...texts('1', '2', '3')));
  await until(async () => log.reads.length === 1);
  const before = drops();
  log.replace();
  await until(async () => log.reads.length === 2);
  expect(drops()).toBe(before + 1);
  log.append(...texts('new'));
  await until(async () => applied.length === 1);
  expect(applied).toEqual(['new']);
});

it('a steady stream whose end is always ahead does not make it late', async () => {
  const { log, clock, drops, follower, freshness, isCurrent } = follow();
  await until(async () => isCurrent() && log.reads.length === 1);
  const ends = log.ends.bind(log);
  // Each answer is followed by another record before the follower can see it.
  log.ends = async () => {
    const answer = await ends();
    log.append(...texts('more'));
    return answer;
  };
  for (let round = 0; round < 20; round++) {
    const asked = log.endsAsked;
    await until(async () => log.endsAsked > asked && freshness.behindMs < LAG_MS / 2);
    clock.now += LAG_MS / 2;
  }
  expect(drops()).toBe(1);
  expect(follower.stats().applied).toBeGreaterThanOrEqual(20);
});

it('how far behind it is: records that are in the log and not applied', async () => {
  const { log, follower } = follow();
  await until(async () => log.reads.length === 1);
  log.readHangs = true;
  log.append(...texts('1', '2', '3'));
  await until(async () => follower.stats().behindRecords === 3);
  log.readHangs = false;
  log.wake();
  await until(async () => follower.stats().behindRecords === 0);
});

it('many records are applied in pieces: other work comes in between', async () => {
  const { log, applied } = follow();
  await until(async () => log.reads.length === 1);
  log.append(...texts(...Array.from({ length: 1_000 }, (_, index) => String(index))));
  const seen = new Set<number>();
  while (applied.length < 1_000) {
    seen.add(applied.length);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  expect(seen.size).toBeGreaterThan(5);
});

it('stop() resolves though a read hears nothing, and nothing is applied any more', async () => {
  const { log, follower, applied } = follow();
  await until(async () => log.reads.length === 1);
  log.readHangs = true;
  log.wake();
  await follower.stop();
  log.readHangs = false;
  log.append(...texts('late'));
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(applied).toEqual([]);
});
