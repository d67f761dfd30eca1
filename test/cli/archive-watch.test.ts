/** What `mailjoin archive` says of a log that fails: seldom enough to be read, soon enough to be seen. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { noTotals } from '../../src/archive/archive-totals.js';
import { reportArchive } from '../../src/cli/archive-report.js';
import { BrokerWatch } from '../../src/cli/broker-watch.js';
import { FailureLines } from '../../src/cli/failure-lines.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { LogFields } from '../../src/server/log.js';
import { until } from '../stores/fixtures.js';

function failureLines() {
  const lines: LogFields[] = [];
  const write = (level: string, event: string, fields: LogFields = {}): void => {
    expect([level, event]).toEqual(['warn', 'log_failure']);
    lines.push(fields);
  };
  return { lines, failures: new FailureLines({ write }, 'log_failure') };
}

describe('failures of the log', () => {
  const away = (detail: string) => new MailjoinError('LOG_UNAVAILABLE', detail);

  it('have a line at once, then one in a period, with how many there were and the last reason', () => {
    const { lines, failures } = failureLines();
    for (let at = 0; at < 50; at++) failures.add(away(`attempt ${at}`));
    expect(lines).toEqual([
      { code: 'LOG_UNAVAILABLE', count: 1, reason: expect.stringContaining('attempt 0') },
    ]);
    failures.endPeriod();
    expect(lines[1]).toEqual({
      code: 'LOG_UNAVAILABLE',
      count: 49,
      reason: expect.stringContaining('attempt 49'),
    });
    failures.add(away('again'));
    expect(lines).toHaveLength(2);
    failures.endPeriod();
    expect(lines[2]).toMatchObject({ count: 1 });
  });

  it('of another code, or after a quiet period, have one at once', () => {
    const { lines, failures } = failureLines();
    failures.add(away('one'));
    failures.add(new MailjoinError('LOG_REFUSED'));
    failures.endPeriod();
    expect(lines.map(({ code, count }) => [code, count])).toEqual([
      ['LOG_UNAVAILABLE', 1],
      ['LOG_REFUSED', 1],
    ]);
    failures.add(away('later'));
    expect(lines).toHaveLength(3);
  });

  it('that are not ours are INTERNAL, without their text', () => {
    const { lines, failures } = failureLines();
    failures.add(new Error('content'));
    expect(lines).toEqual([{ code: 'INTERNAL', count: 1, reason: undefined }]);
  });
});

describe('brokers that are asked', () => {
  it('and do not answer are told of soon, and of their failure when it comes', async () => {
    const told: unknown[] = [];
    let fail = (_: unknown): void => undefined;
    let asked = 0;
    const log = {
      ends: () => {
        asked++;
        return new Promise<never>((_, reject) => {
          fail = reject;
        });
      },
    };
    const watch = new BrokerWatch({ log, silenceMs: 1, onFailure: (error) => told.push(error) });
    watch.ask();
    watch.ask();
    expect(asked).toBe(1);
    await until(async () => told.length === 1, 5_000);
    expect(told[0]).toMatchObject({ code: 'LOG_UNAVAILABLE' });
    const failure = new MailjoinError('LOG_UNAVAILABLE');
    fail(failure);
    await until(async () => told.length === 2, 5_000);
    expect(told[1]).toBe(failure);
    await until(async () => {
      watch.ask();
      return asked === 2;
    }, 5_000);
    watch.stop();
    fail(failure);
    await delay(20);
    expect(told).toHaveLength(2);
  });

  it('and answer are told nothing of', async () => {
    const told: unknown[] = [];
    const watch = new BrokerWatch({
      log: { ends: async () => [] },
      silenceMs: 1,
      onFailure: (error) => told.push(error),
    });
    watch.ask();
    await delay(20);
    expect(told).toEqual([]);
  });
});

describe('the report', () => {
  function printed(lag: bigint | undefined, isFile: boolean, ...flags: readonly string[]): string {
    const lines: string[] = [];
    const options = new Map(flags.map((flag) => [flag, '']));
    const print = (line: string): void => void lines.push(line);
    reportArchive({ options, print }, { ...noTotals(), lag }, { isFile, elapsedMs: 5 });
    return lines.join('\n');
  }

  it('says of a lag that is not known that it is not, and of a file none', () => {
    expect(printed(undefined, false)).toMatch(/^lag\s+unknown\s/m);
    expect(JSON.parse(printed(undefined, false, 'json'))).toMatchObject({ lag: null });
    expect(printed(undefined, true)).not.toContain('lag');
    expect(JSON.parse(printed(undefined, true, 'json'))).not.toHaveProperty('lag');
    expect(printed(12n, false)).toMatch(/^lag\s+12\s/m);
    expect(JSON.parse(printed(12n, false, 'json'))).toMatchObject({ lag: '12' });
  });
});
