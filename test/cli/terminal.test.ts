/** The prompt of a terminal, on streams that stand in for one: a real pseudo-terminal needs a compiled dependency. */
import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { terminalOf } from '../../src/cli/terminal.js';

class Keyboard extends EventEmitter {
  isTTY = true;
  raw = false;
  flowing = false;
  rawFails = false;
  setRawMode(raw: boolean): void {
    if (this.rawFails && raw) throw new Error('EIO');
    this.raw = raw;
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

  it('restores the terminal also when raw mode fails', async () => {
    const { keyboard, terminal, stop, isRestored } = parts();
    keyboard.rawFails = true;
    await expect(terminal.askToGoOn('?', stop.signal)).rejects.toThrow('EIO');
    expect(isRestored()).toBe(true);
  });

  it('cuts the prompt one short of the columns', async () => {
    const { keyboard, written, terminal, stop } = parts(10);
    const answer = terminal.askToGoOn('0123456789ABC', stop.signal);
    expect(written).toEqual(['012345678']);
    keyboard.emit('data', Buffer.from('q'));
    await answer;
  });
});
