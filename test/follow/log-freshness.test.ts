// The one bound on staleness: kept by events while they are heard, by age while they are not.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LogFreshness } from '../../src/follow/log-freshness.js';

const AGE_MS = 60_000;
const LAG_MS = 5_000;
const SETTLE_MS = 10_000;

function made(cacheAgeMs = AGE_MS) {
  const clock = { now: 1_000, nowMs: () => clock.now };
  const dropped: number[] = [];
  const changes: boolean[] = [];
  const freshness = new LogFreshness({
    clock,
    cacheAgeMs,
    lagMsMax: LAG_MS,
    settleMs: SETTLE_MS,
    dropCache: () => dropped.push(clock.now),
    onChange: (isCurrent) => changes.push(isCurrent),
  });
  return { clock, dropped, changes, freshness };
}

it('before the follower has begun, bodies have the short age', () => {
  const { freshness, clock } = made();
  expect(freshness.isCurrent(clock.now)).toBe(false);
  expect(freshness.ageMsMax(clock.now)).toBe(LAG_MS);
});

it('the short age is never longer than the age that is set', () => {
  const { freshness, clock } = made(10);
  expect(freshness.ageMsMax(clock.now)).toBe(10);
});

it('reads sent while it settles have the short age, however late they are published', () => {
  const { clock, freshness } = made();
  freshness.begin(clock.now);
  freshness.standsAt(clock.now, clock.now);
  const sentAtMs = clock.now + SETTLE_MS - 1;
  clock.now = sentAtMs + 500;
  freshness.standsAt(clock.now, clock.now);
  expect(freshness.ageMsMax(sentAtMs)).toBe(LAG_MS);
  expect(freshness.ageMsMax(clock.now)).toBe(AGE_MS);
});

it('falling behind drops the cache once, on the first look after the bound, and says so', () => {
  const { changes, clock, dropped, freshness } = made();
  freshness.begin(clock.now);
  freshness.standsAt(clock.now, clock.now);
  clock.now += LAG_MS;
  freshness.check(clock.now);
  expect(dropped).toHaveLength(1);
  clock.now += 1;
  freshness.check(clock.now);
  freshness.check(clock.now);
  expect(dropped).toHaveLength(2);
  expect(freshness.ageMsMax(clock.now)).toBe(LAG_MS);
  expect(changes).toEqual([true, false]);
  freshness.standsAt(clock.now, clock.now);
  expect(changes).toEqual([true, false, true]);
  expect(dropped).toHaveLength(2);
});

it('a question that is answered after the bound does not make it current', () => {
  const { clock, freshness } = made();
  freshness.begin(clock.now);
  const askedAtMs = clock.now;
  clock.now += LAG_MS + 1;
  freshness.standsAt(askedAtMs, clock.now);
  expect(freshness.isCurrent(clock.now)).toBe(false);
});

it('nothing cached is served that was out of date in the log for longer than the bound, in any order of things', () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
    fc.record({ kind: fc.constant('stand' as const), agoMs: fc.integer({ min: 0, max: 8_000 }) }),
    fc.constant({ kind: 'gap' as const }),
    fc.constant({ kind: 'read' as const }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      // Bodies that were right at the time of their read, or later: when an event was last heard.
      let bodies: { rightAtMs: number; expiresAtMs: number }[] = [];
      const clock = { now: 1_000, nowMs: () => clock.now };
      const freshness = new LogFreshness({
        clock,
        cacheAgeMs: AGE_MS,
        lagMsMax: LAG_MS,
        settleMs: SETTLE_MS,
        dropCache: () => {
          bodies = [];
        },
      });
      freshness.begin(clock.now);
      let stoodAtMs = clock.now;
      for (const step of actions) {
        if (step.kind === 'wait') clock.now += step.ms;
        else if (step.kind === 'gap') freshness.begin(clock.now);
        else if (step.kind === 'stand') {
          // Events up to there are applied: what was wrong is gone.
          stoodAtMs = Math.max(stoodAtMs, clock.now - step.agoMs);
          freshness.standsAt(stoodAtMs, clock.now);
          for (const body of bodies) body.rightAtMs = Math.max(body.rightAtMs, stoodAtMs);
        } else {
          const expiresAtMs = clock.now + freshness.ageMsMax(clock.now);
          bodies.push({ rightAtMs: clock.now, expiresAtMs });
        }
        freshness.check(clock.now);
        for (const { rightAtMs, expiresAtMs } of bodies) {
          if (clock.now < expiresAtMs) expect(clock.now - rightAtMs).toBeLessThanOrEqual(LAG_MS);
        }
      }
    }),
  );
});
