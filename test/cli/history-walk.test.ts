/** `mailjoin history` over many pages: what a terminal asks, what is told on the way, and what ends it early. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSidecar } from '../../src/cli/compose.js';
import { JsonLog } from '../../src/cli/log.js';
import { settingsWith } from '../../src/cli/settings.js';
import type { Terminal } from '../../src/cli/terminal.js';
import {
  committed,
  letters,
  nextWords,
  OF_TENANT,
  rowsAt,
  runOn,
  seqsIn,
  terminalWith,
} from './history-program.js';
import { programUnderTest } from './write-program.js';

describe('on a terminal', () => {
  it('asks after each page, goes on, and stops where the person does', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, letters(5));
    const words = ['history', conversation, ...OF_TENANT, '--limit', '2'];
    const toEnd = terminalWith([true, true]);
    expect(seqsIn((await runOn(toEnd, program, words)).out)).toEqual([4, 5, 2, 3, 1]);
    expect(toEnd.asked).toHaveLength(2);
    const quits = await runOn(terminalWith([false]), program, words);
    expect([quits.exitCode, seqsIn(quits.out)]).toEqual([0, [4, 5]]);
    expect(nextWords(quits.out)).toContain('--anchor');
    const machine = terminalWith([]);
    await runOn(machine, program, [...words, '--json']);
    expect(machine.asked).toEqual([]);
  });

  it('S-3 names a hole in the prompt and goes on behind it when told to', async () => {
    const program = programUnderTest();
    const conversation = await rowsAt(program, [1n, 50_000n]);
    const terminal = terminalWith([true, true]);
    const { out } = await runOn(terminal, program, [
      'history',
      conversation,
      ...OF_TENANT,
      '--anchor',
      '50001',
    ]);
    expect(seqsIn(out)).toEqual([50_000, 1]);
    expect(terminal.asked[0]).toContain('hole from seq 49999');
  });

  it('no line of a message is wider than a narrow terminal', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, ['long '.repeat(40)]);
    const words = ['history', conversation, ...OF_TENANT, '--content'];
    const { out } = await runOn(terminalWith([], 30), program, words);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBe(30);
    expect(out.replaceAll(/\n {2}/g, '')).toContain('long '.repeat(40).trimEnd());
  });
});

describe('a long walk', () => {
  it('says how far it is every 50 pages, beside what it shows', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, letters(101));
    const words = ['history', conversation, ...OF_TENANT, '--limit', '1', '--all', '--json'];
    const { rows, errors } = await program.run(words);
    expect(rows).toHaveLength(102);
    const told = '50 messages so far, now at seq 52\n100 messages so far, now at seq 2';
    expect(errors).toBe(told);
  });

  it('a signal during --all ends it behind the page under way, with the command that goes on', async () => {
    const program = programUnderTest();
    const conversation = randomUUID();
    await committed(program, conversation, letters(6));
    const words = ['history', conversation, ...OF_TENANT, '--limit', '2', '--all'];
    let lines = 0;
    const before = process.listenerCount('SIGINT');
    const stopped = await runOn(undefined, program, words, () => {
      if (++lines === 3) process.emit('SIGINT');
    });
    expect([stopped.exitCode, seqsIn(stopped.out)]).toEqual([1, [5, 6, 3, 4]]);
    expect(process.listenerCount('SIGINT')).toBe(before);
    const next = nextWords(stopped.out);
    expect(next).toEqual(expect.arrayContaining(['--anchor', '3', '--all']));
    expect(seqsIn((await program.run(next ?? [])).out)).toEqual([1, 2]);
  });

  it.each([
    ['the anchor that was asked for', [0x30, 6]],
    ['none', []],
  ])(
    'a sidecar whose page says that there is more and names %s to go on ends it',
    async (_name, nextAnchor) => {
      const program = programUnderTest();
      const socket = path.join(program.directory, 's');
      let asked = 0;
      // contract_version 1, has_more, next_anchor, stop DEADLINE.
      const page = Buffer.from([0x08, 1, 0x28, 1, ...nextAnchor, 0x38, 4]);
      const sidecar = http.createServer((request, response) => {
        asked++;
        request.resume();
        response.setHeader('content-type', 'application/x-protobuf');
        response.setHeader('content-length', page.length);
        response.end(page);
      });
      await new Promise<void>((listening) => sidecar.listen(socket, listening));
      onTestFinished(() => void sidecar.close());
      const words = [
        'history',
        randomUUID(),
        ...OF_TENANT,
        '--anchor',
        '6',
        '--via-socket',
        '--socket',
        socket,
      ];
      const { exitCode, errors } = await program.run(words);
      expect([exitCode, asked]).toEqual([1, 1]);
      expect(errors).toContain('STORE_UNAVAILABLE');
    },
  );
});

it('a walk that fails on its way says where it goes on', async () => {
  const program = programUnderTest();
  const conversation = randomUUID();
  await committed(program, conversation, letters(3));
  const socket = path.join(program.directory, 's');
  const settings = settingsWith({ dataDir: program.dataDir, socket, workers: 1, cacheBytes: 1_048_576 });
  const sidecar = await startSidecar(settings, new JsonLog('error'));
  const terminal: Terminal = { columns: 200, askToGoOn: async () => (await sidecar.stop(0)) >= 0 };
  const words = ['history', conversation, ...OF_TENANT, '--limit', '2', '--via-socket', '--socket', socket];
  const { exitCode, out } = await runOn(terminal, program, words);
  expect([exitCode, seqsIn(out)]).toEqual([1, [2, 3]]);
  expect(out).toMatch(/To go on from here: mailjoin history .* --anchor 2 .*--via-socket/);
  expect(out).toMatch(/CLIENT_(CONNECT|DISCONNECTED)/);
});
