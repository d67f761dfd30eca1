/** The file's format: each thing that may be wrong with it is named, and what a run writes is read again. */
import { describe, expect, it } from 'vitest';
import { calibrationOf, readCostFile } from '../../src/calibrate/calibration.js';
import { parseReadCosts } from '../../src/calibrate/read-cost-file.js';
import { readPoints } from '../../src/calibrate/read-points.js';
import { figuresOf, groupOf } from './calibrate-fixtures.js';

const constants = {
  inCap: 100,
  statementMicros: 650,
  furtherStatementMicros: 130,
  rangeRowMicros: 11,
  inElementMicros: 17,
};
const FILE = { version: 1, store: 'cql', constants };
const RUN = {
  measuredAt: '2026-01-02T03:04:05.000Z',
  store: 'cql',
  place: 'keyspace chat',
  rows: 'written',
  seed: 7,
  seconds: 61.5,
  machine: { cores: 2, memoryBytes: 2 ** 34, node: 'v20.0.0' },
} as const;

describe('what is refused', () => {
  it.each<[string, unknown, string]>([
    ['a list', [], 'must hold one JSON object'],
    ['null', null, 'must hold one JSON object'],
    ['no version', { ...FILE, version: undefined }, 'version 1, and has missing'],
    ['another version', { ...FILE, version: 2 }, 'version 1, and has 2'],
    [
      'a store of another kind',
      { ...FILE, store: 'redis' },
      'store must be "embedded" or "cql", and is "redis"',
    ],
    ['no constants', { ...FILE, constants: undefined }, 'constants must be an object'],
    ['a constant that nobody knows', { ...FILE, constants: { ...constants, x: 1 } }, 'constants has no "x"'],
    [
      'a constant that is missing',
      { ...FILE, constants: { ...constants, rangeRowMicros: undefined } },
      'constants.rangeRowMicros must be a number from 0 to 1000000000, and is missing',
    ],
    [
      'a constant below 0',
      { ...FILE, constants: { ...constants, statementMicros: -1 } },
      'constants.statementMicros must be a number from 0 to 1000000000, and is -1',
    ],
    [
      'a constant without end',
      JSON.parse(JSON.stringify(FILE).replace('17', '1e999')),
      'constants.inElementMicros must be a number from 0 to 1000000000, and is Infinity',
    ],
    ...[1_000_000_001, 1e12, 1e308].map((value): [string, unknown, string] => [
      `a constant of ${value}`,
      { ...FILE, constants: { ...constants, furtherStatementMicros: value } },
      `constants.furtherStatementMicros must be a number from 0 to 1000000000, and is ${value}`,
    ]),
    [
      'no cost at all, which is nothing to choose by',
      {
        ...FILE,
        constants: {
          inCap: 100,
          statementMicros: 0,
          furtherStatementMicros: 0,
          rangeRowMicros: 0,
          inElementMicros: 0,
        },
      },
      'constants has no cost above 0',
    ],
    [
      'a constant in text',
      { ...FILE, constants: { ...constants, inElementMicros: '17' } },
      'constants.inElementMicros must be a number from 0 to 1000000000, and is "17"',
    ],
    ...[0, 4_097, 1.5, '100', null].map((inCap): [string, unknown, string] => [
      `an IN cap of ${JSON.stringify(inCap)}`,
      { ...FILE, constants: { ...constants, inCap } },
      `constants.inCap must be a whole number from 1 to 4096, and is ${JSON.stringify(inCap)}`,
    ]),
    ['a long text, cut', { ...FILE, store: 'x'.repeat(1_000) }, `and is "${'x'.repeat(39)}…`],
  ])('%s', (_, content, problem) => {
    const parsed = parseReadCosts(content);
    expect('problem' in parsed && parsed.problem).toContain(problem);
  });
});

describe('what is taken', () => {
  it('a file by hand, with the least that it needs', () => {
    expect(parseReadCosts(FILE)).toEqual({ costs: { store: 'cql', constants } });
  });

  it('constants of 0 beside one that is not, and the bounds of the IN cap', () => {
    for (const inCap of [1, 4_096]) {
      const free = {
        inCap,
        statementMicros: 0,
        furtherStatementMicros: 0,
        rangeRowMicros: 1,
        inElementMicros: 0,
      };
      expect(parseReadCosts({ ...FILE, constants: free })).toEqual({
        costs: { store: 'cql', constants: free },
      });
    }
  });

  it('what a run writes, with how it was made and every figure behind it', () => {
    const groups = [groupOf(4_096, 600), groupOf(4_096, 200)];
    const points = readPoints(groups);
    const figures = figuresOf(points, { statement: 650, row: 11, element: 17 });
    const refused = points.filter(({ inCap, shape }) => shape === 'in' && inCap === 200);
    const text = readCostFile(
      calibrationOf(groups, {
        figures: figures.filter(({ point }) => !refused.includes(point)),
        roundsDone: 9,
        reads: 2_000,
        failures: 1,
        changedReads: 2,
        refused,
      }),
      RUN,
    );
    const content = JSON.parse(text);
    expect(parseReadCosts(content)).toEqual({
      // Here many statements take no longer together than one.
      costs: { store: 'cql', constants: { ...constants, furtherStatementMicros: 0, inCap: 100 } },
    });
    expect(content).toMatchObject({
      measuredAt: RUN.measuredAt,
      how: {
        rows: 'written',
        seed: 7,
        seconds: 61.5,
        roundsDone: 9,
        reads: 2_000,
        failures: 1,
        changedReads: 2,
        machine: { cores: 2 },
      },
      sizes: [
        { rowBytes: 600, buckets: 1, crossover: 1.545, fit: { inElementMicros: 17 } },
        { rowBytes: 200 },
      ],
    });
    expect(content.refused).toHaveLength(refused.length);
    expect(content.sizes[0].points).toContainEqual({
      shape: 'covering',
      wanted: 10,
      span: 19,
      statements: 1,
      inCap: 10,
      samples: 9,
      medianMicros: 859,
      quartilesMicros: [773.1, 944.9],
    });
  });
});
