import { describe, expect, it } from 'vitest';
import { JsonLog } from '../../src/cli/log.js';

function logAt(level: 'info' | 'debug') {
  const lines: string[] = [];
  const clock = { epochMs: 1_000_000 };
  const log = new JsonLog(
    level,
    (line) => lines.push(line),
    () => clock.epochMs,
  );
  return { log, lines, clock };
}

describe('the log', () => {
  it('writes one line of JSON per event, from the level on', () => {
    const { log, lines } = logAt('info');
    log.write('debug', 'small');
    log.write('warn', 'odd', { text: 'two\nlines', count: 2 });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith('\n')).toBe(true);
    expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      time: '1970-01-01T00:16:40.000Z',
      level: 'warn',
      event: 'odd',
      text: 'two\nlines',
      count: 2,
    });
  });

  it('leaves out what one event repeats within a second, and says how much it was', () => {
    const { log, lines, clock } = logAt('info');
    for (let count = 0; count < 100; count++) log.write('warn', 'flood');
    log.write('warn', 'other');
    expect(lines).toHaveLength(11);
    clock.epochMs += 1000;
    log.write('warn', 'flood');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'flood', skipped: 90 });
  });
});
