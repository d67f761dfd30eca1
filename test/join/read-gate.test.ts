// The gate of group reads: bounded, urgent first, and nothing is sent that nobody waits for.
import { describe, expect, it } from 'vitest';
import { RequestKind } from '../../src/domain/entries.js';
import { GROUP_READS_MAX, GROUP_READS_PUSH_RESERVE } from '../../src/domain/limits.js';
import { ReadGate, Turn } from '../../src/join/read-gate.js';
import { makeWorld, names, newConversation } from './harness.js';

interface Sent {
  name: string;
  answer(): void;
}

/** A gate of 3 with 1 in reserve, and what was sent through it. */
function makeGate() {
  const gate = new ReadGate(3, 1);
  const sent: Sent[] = [];
  const run = (name: string, urgency: boolean | Turn = false, isWanted = () => true) =>
    gate.run({
      turn: urgency instanceof Turn ? urgency : new Turn(urgency),
      isWanted,
      send: () => new Promise<string>((resolve) => sent.push({ name, answer: () => resolve(name) })),
    });
  const answer = async (name: string) => {
    sent.find((read) => read.name === name)?.answer();
    // Two turns: the read's own, and the one that takes its place.
    await new Promise(setImmediate);
  };
  return { gate, sent, run, answer, sentNames: () => sent.map(({ name }) => name) };
}

/** What was sent, once those that got a place had their turn. */
async function sentSoon(sentNames: () => string[]): Promise<string[]> {
  await new Promise(setImmediate);
  return sentNames();
}

describe('ReadGate', () => {
  it('leaves the reserve to urgent reads, and lets them go first', async () => {
    const { gate, run, answer, sentNames } = makeGate();
    for (const name of ['a', 'b', 'c']) void run(name);
    for (const name of ['x', 'y']) void run(name, true);
    expect(sentNames()).toEqual(['a', 'b', 'x']);
    await answer('a');
    expect(sentNames()).toEqual(['a', 'b', 'x', 'y']);
    await answer('b');
    expect(sentNames()).toEqual(['a', 'b', 'x', 'y']);
    expect(gate.underWay).toBe(2);
  });

  it('sends what waits once the urgent ones are done, in order', async () => {
    const { run, answer, sentNames } = makeGate();
    for (const name of ['a', 'b', 'c', 'd']) void run(name);
    await answer('a');
    await answer('b');
    expect(sentNames()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('does not send what nobody waits for any more, and goes on with the next', async () => {
    const { gate, run, answer, sentNames } = makeGate();
    void run('a');
    void run('b');
    const left = run('left', false, () => false);
    const wanted = run('wanted');
    await answer('a');
    expect(await left).toBeUndefined();
    expect(sentNames()).toEqual(['a', 'b', 'wanted']);
    await answer('wanted');
    expect(await wanted).toBe('wanted');
    await answer('b');
    expect(gate.underWay).toBe(0);
  });

  it('moves a read up that is hurried while it waits, into the reserve or before the others, and sends it once', async () => {
    const { gate, run, answer, sentNames } = makeGate();
    const [first, second] = [new Turn(false), new Turn(false)];
    for (const name of ['a', 'b', 'c']) void run(name);
    void run('first', first);
    void run('second', second);
    first.hurry();
    expect(await sentSoon(sentNames)).toEqual(['a', 'b', 'first']);
    second.hurry();
    second.hurry();
    expect(await sentSoon(sentNames)).toEqual(['a', 'b', 'first']);
    for (const name of ['a', 'first', 'b', 'second', 'c']) await answer(name);
    expect(sentNames()).toEqual(['a', 'b', 'first', 'second', 'c']);
    expect(gate.underWay).toBe(0);
  });

  it('stays small while its line never ends, and forgets who went by the other line', async () => {
    const gate = new ReadGate(2, 1);
    const answers: (() => void)[] = [];
    const run = (turn: Turn) =>
      gate.run({
        turn,
        isWanted: () => true,
        send: () => new Promise<void>((resolve) => answers.push(resolve)),
      });
    const goOn = async (): Promise<void> => {
      answers.shift()?.();
      await new Promise(setImmediate);
    };
    for (let read = 0; read < 4; read++) void run(new Turn(false));
    for (let read = 0; read < 10_000; read++) {
      void run(new Turn(false));
      await goOn();
    }
    expect(gate.slots).toBeLessThan(2_100);
    // The backlog’s read hangs: what is hurried goes by the reserve, and its old place is behind those that wait.
    const hanging = answers.splice(0);
    for (let read = 0; read < 10_000; read++) {
      const turn = new Turn(false);
      void run(turn);
      turn.hurry();
      await goOn();
    }
    expect(gate.slots).toBeLessThan(2_100);
    answers.push(...hanging);
    while (gate.underWay > 0) await goOn();
    expect(gate.slots).toBe(0);
  });

  it('lets a hurried read that has gone already be', async () => {
    const { gate, run, answer, sentNames } = makeGate();
    const turn = new Turn(false);
    void run('a', turn);
    turn.hurry();
    await answer('a');
    expect([sentNames(), gate.underWay]).toEqual([['a'], 0]);
  });

  it('gives the place back when a read fails', async () => {
    const gate = new ReadGate(3, 1);
    const send = () => Promise.reject(new Error('down'));
    await expect(gate.run({ turn: new Turn(false), isWanted: () => true, send })).rejects.toThrow('down');
    expect(gate.underWay).toBe(0);
  });
});

it('a backlog of hundreds of groups on a store that hangs does not hold up live delivery', async () => {
  const { add, join, store } = makeWorld();
  const backlog = Array.from({ length: 2 * GROUP_READS_MAX }, () => add(newConversation(), 1n, 'old'));
  const live = add(newConversation(), 1n, 'live');
  const release = store.hold();
  const waiting = join(backlog, { deadlineMs: 50 });
  expect(store.reads).toHaveLength(GROUP_READS_MAX - GROUP_READS_PUSH_RESERVE);
  const delivered = join([live], { kind: RequestKind.PUSH_EVENTS });
  expect(store.reads).toHaveLength(GROUP_READS_MAX - GROUP_READS_PUSH_RESERVE + 1);
  expect(new Set(names(await waiting))).toEqual(new Set(['DEADLINE']));
  release();
  expect(names(await delivered)).toEqual(['OK']);
  // What had to wait until its batch had gone was never sent.
  await new Promise(setImmediate);
  expect(store.reads).toHaveLength(GROUP_READS_MAX - GROUP_READS_PUSH_RESERVE + 1);
});

it('live delivery that asks for what a backlog waits for has it read before the backlog', async () => {
  const { add, join, store } = makeWorld();
  const backlog = Array.from({ length: 2 * GROUP_READS_MAX }, () => add(newConversation(), 1n, 'old'));
  const last = backlog.at(-1);
  if (last === undefined) throw new Error('a backlog has messages');
  const release = store.hold();
  const waiting = join(backlog);
  const sent = store.reads.length;
  const delivered = join([last], { kind: RequestKind.PUSH_EVENTS });
  await new Promise(setImmediate);
  expect(store.reads).toHaveLength(sent + 1);
  expect(store.reads.at(-1)?.conversationId).toEqual(new Uint8Array(last.conversationId));
  release();
  expect(names(await delivered)).toEqual(['OK']);
  expect(new Set(names(await waiting))).toEqual(new Set(['OK']));
  expect(store.reads).toHaveLength(backlog.length);
});
