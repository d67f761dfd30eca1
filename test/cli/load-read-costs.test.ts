/** What the planner is given (R7.3): a file's constants or the shipped ones, and a start that a bad file ends. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSidecar } from '../../src/cli/compose.js';
import { loadReadCosts } from '../../src/cli/load-read-costs.js';
import { settingsWith } from '../../src/cli/settings.js';
import { IN_CAP_DEFAULT } from '../../src/domain/limits.js';
import { READ_COST_MODEL_DEFAULT, READ_COST_MODEL_EMBEDDED } from '../../src/join/read-cost-model.js';
import { type Log, SILENT_LOG } from '../../src/server/log.js';
import { startSidecarUnderTest } from '../client/sidecar-under-test.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { tenant } from '../stores/fixtures.js';

const constants = {
  inCap: 60,
  statementMicros: 500,
  furtherStatementMicros: 100,
  rangeRowMicros: 9,
  inElementMicros: 12,
};
const GOOD = { version: 1, store: 'embedded', constants };

let directory: string;
let readCosts: string;
beforeEach(() => {
  directory = temporaryDirectory();
  readCosts = path.join(directory, 'costs.json');
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

function write(content: unknown): void {
  fs.writeFileSync(readCosts, typeof content === 'string' ? content : JSON.stringify(content));
}

describe('what ends a start', () => {
  it.each<[string, unknown, string]>([
    ['no JSON', '{"version": 1,', 'is no JSON'],
    ['an empty file', '', 'is no JSON'],
    ['another version', { ...GOOD, version: 2 }, 'must have version 1'],
    ['a constant that is none', { ...GOOD, constants: { ...constants, inCap: 0 } }, 'constants.inCap'],
    [
      'another kind of store',
      { ...GOOD, store: 'cql' },
      'was measured on the store "cql", and this one is "embedded"',
    ],
    ['a file that is far too large', ' '.repeat(1_100_000), 'is larger than such a file'],
  ])('%s', async (_, content, problem) => {
    write(content);
    const settings = settingsWith({ readCosts, dataDir: path.join(directory, 'data') });
    const starting = startSidecar(settings, SILENT_LOG);
    await expect(starting).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(starting).rejects.toThrow(problem);
    await expect(starting).rejects.toThrow(`readCosts (${readCosts}): `);
    expect(fs.existsSync(settings.dataDir)).toBe(false);
  });

  it('all costs of 0: there would be nothing to choose by', () => {
    write({
      ...GOOD,
      constants: {
        ...constants,
        statementMicros: 0,
        furtherStatementMicros: 0,
        rangeRowMicros: 0,
        inElementMicros: 0,
      },
    });
    expect(() => loadReadCosts(settingsWith({ readCosts }))).toThrow('no cost above 0');
  });

  it.each([
    ['a file that is not there', 'missing.json', 'cannot be read'],
    ['a folder', '.', 'is no regular file'],
  ])('%s', (_, name, problem) => {
    const place = path.join(directory, name);
    expect(() => loadReadCosts(settingsWith({ readCosts: place }))).toThrow(problem);
  });
});

describe('costs in use', () => {
  it('without a file are those shipped for the kind of store, with the cap that the settings name', () => {
    const source = 'shipped defaults';
    expect(loadReadCosts(settingsWith({ store: 'cql' }))).toEqual({ model: READ_COST_MODEL_DEFAULT, source });
    expect(loadReadCosts(settingsWith({}))).toEqual({ model: READ_COST_MODEL_EMBEDDED, source });
    expect(loadReadCosts(settingsWith({})).model.inCap).toBe(IN_CAP_DEFAULT);
    expect(loadReadCosts(settingsWith({ inCap: 7 })).model).toEqual({
      ...READ_COST_MODEL_EMBEDDED,
      inCap: 7,
    });
  });

  it('are the file’s, but for a cap that the settings name; bounds of surplus are no matter of a file', () => {
    write(GOOD);
    expect(loadReadCosts(settingsWith({ readCosts }))).toEqual({
      model: { ...READ_COST_MODEL_DEFAULT, ...constants },
      source: readCosts,
    });
    expect(loadReadCosts(settingsWith({ readCosts, inCap: 7 })).model.inCap).toBe(7);
  });

  it('of 0 are told at a start, each by its name, but for a further statement', async () => {
    write({
      ...GOOD,
      constants: { ...constants, statementMicros: 0, furtherStatementMicros: 0, inElementMicros: 0 },
    });
    const warnings: object[] = [];
    const log: Log = {
      write: (level, event, fields) => {
        if (level === 'warn') warnings.push({ event, ...fields });
      },
    };
    const { stop } = await startSidecar(
      settingsWith({
        readCosts,
        dataDir: path.join(directory, 'data'),
        socket: path.join(directory, 'm.sock'),
        cacheBytes: 1024 * 1024,
        workers: 1,
      }),
      log,
    );
    await stop(0);
    const told = { event: 'read_costs_free', readCosts, constants: 'statementMicros, inElementMicros' };
    expect(warnings).toEqual([told]);
  });

  it('are what a sidecar plans with: where elements are free it reads a list, where rows are free a covering range', async () => {
    const scattered = Array.from({ length: 20 }, (_, at) => BigInt(1 + at * 3));
    for (const [rangeRowMicros, inElementMicros, inStatements, coveringStatements, rows] of [
      [10, 0, 1, 0, 20],
      [0, 10, 0, 1, 58],
    ]) {
      write({ ...GOOD, constants: { ...constants, rangeRowMicros, inElementMicros } });
      const { client, write: fill, stop } = await startSidecarUnderTest({ readCosts });
      try {
        const all = Array.from({ length: 60 }, (_, at) => BigInt(at + 1));
        const { tenantId, conversationId, messages } = await fill(tenant(), all);
        const { receipt, entries } = await client.join({
          kind: 'MAILBOX_BATCH',
          tenantId,
          wantReceipt: true,
          entries: scattered.map((seq) => {
            const [message = expect.fail('it was written')] = messages.filter(
              ({ record }) => record.seq === seq,
            );
            return { conversationId, seq, messageId: message.record.messageId };
          }),
        });
        expect(new Set(entries.map(({ result }) => result))).toEqual(new Set(['OK']));
        expect(receipt).toMatchObject({ inStatements, coveringStatements, rangeStatements: 0, rows });
      } finally {
        await stop();
      }
    }
  });
});
