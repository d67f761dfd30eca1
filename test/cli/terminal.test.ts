/** The prompt of a terminal, on streams that stand in for one: a real pseudo-terminal needs a compiled dependency. */
import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { terminalOf } from '../../src/cli/terminal.js';

class Keyboard extends EventEmitter {
  isTTY = true;
  raw = false;
  flowing = false;
  isGone = false;
  setRawMode(raw: boolean): void {
    this.raw = raw;
    // As Node tells it.
    if (this.isGone) this.emit('error', new Error('EIO'));
  }
  resume(): void {
    this.flowing = true;
  }
  pause(): void {
    this.flowing = false;
  }
}

function parts(columns = 80) {
  const keyboard = new Keyboard();
  const written: string[] = [];
  const screen = { isTTY: true, columns, write: (text: string) => written.push(text) };
  const terminal = terminalOf(keyboard, screen);
  if (terminal === undefined) throw new Error('no terminal');
  const stop = new AbortController();
  const isRestored = () =>
    !keyboard.raw &&
    !keyboard.flowing &&
    keyboard.eventNames().length === 0 &&
    written.at(-1) === '\r\u001b[K';
  return { keyboard, written, terminal, stop, isRestored };
}

describe('terminalOf', () => {
  it('is none unless both ends are terminals', () => {
    const keyboard = new Keyboard();
    const screen = { isTTY: true, write: () => true };
    expect(terminalOf(keyboard, { ...screen, isTTY: false })).toBeUndefined();
    keyboard.isTTY = false;
    expect(terminalOf(keyboard, screen)).toBeUndefined();
  });

  it.each([
    [' ', true],
    ['\r', true],
    ['q', false],
    ['\u0003', false],
    ['\u0004', false],
  ])('key %j: goes on = %s, other keys do nothing, and the terminal is as before', async (key, goesOn) => {
    const { keyboard, terminal, stop, isRestored } = parts();
    const answer = terminal.askToGoOn('?', stop.signal);
    expect([keyboard.raw, keyboard.flowing]).toEqual([true, true]);
    keyboard.emit('data', Buffer.from('x'));
    keyboard.emit('data', Buffer.from(key));
    expect(await answer).toBe(goesOn);
    expect(isRestored()).toBe(true);
  });

  it.each([
    ['the signal', ({ stop }: ReturnType<typeof parts>) => stop.abort()],
    ['the end of the input', ({ keyboard }: ReturnType<typeof parts>) => keyboard.emit('end')],
  ])('%s quits and restores the terminal', async (_name, end) => {
    const all = parts();
    const answer = all.terminal.askToGoOn('?', all.stop.signal);
    end(all);
    expect(await answer).toBe(false);
    expect(all.isRestored()).toBe(true);
  });

  it.each([
    ['an arrow key', ['\u001b[A']],
    ['an arrow key in pieces', ['\u001b', '[A']],
    ['a function key', ['\u001bOP']],
    ['Alt and q', ['\u001bq']],
  ])('%s neither quits nor goes on', async (_name, chunks) => {
    const { keyboard, terminal, stop } = parts();
    let answered = false;
    const answer = terminal.askToGoOn('?', stop.signal).finally(() => {
      answered = true;
    });
    for (const chunk of chunks) keyboard.emit('data', Buffer.from(chunk));
    await new Promise(setImmediate);
    expect(answered).toBe(false);
    keyboard.emit('data', Buffer.from(' '));
    expect(await answer).toBe(true);
  });

  it('keys typed ahead are for the prompts that follow', async () => {
    const { keyboard, terminal, stop, isRestored } = parts();
    const first = terminal.askToGoOn('?', stop.signal);
    keyboard.emit('data', Buffer.from(' x q'));
    expect(await first).toBe(true);
    expect([
      await terminal.askToGoOn('?', stop.signal),
      await terminal.askToGoOn('?', stop.signal),
      isRestored(),
    ]).toEqual([true, false, true]);
  });

  it('a terminal that hangs up while it waits, or before, quits: no error is left uncaught', async () => {
    const hangsUp = parts();
    const answer = hangsUp.terminal.askToGoOn('?', hangsUp.stop.signal);
    hangsUp.keyboard.isGone = true;
    hangsUp.keyboard.emit('error', new Error('EIO'));
    expect(await answer).toBe(false);
    expect(hangsUp.isRestored()).toBe(true);
    const gone = parts();
    gone.keyboard.isGone = true;
    expect(await gone.terminal.askToGoOn('?', gone.stop.signal)).toBe(false);
    expect(gone.isRestored()).toBe(true);
  });

  it('cuts the prompt one short of the columns', async () => {
    const { keyboard, written, terminal, stop } = parts(10);
    const answer = terminal.askToGoOn('0123456789ABC', stop.signal);
    expect(written).toEqual(['012345678']);
    keyboard.emit('data', Buffer.from('q'));
    await answer;
  });
});
