import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Cell,
  type CellValue,
  isLive,
  lastExpiry,
  merge,
  NEVER,
  type Row,
  reconcile,
} from '../../src/embedded/cell.js';
import { decodeRow, encodeRow } from '../../src/embedded/row-codec.js';

const anyValue: fc.Arbitrary<CellValue> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.tuple(fc.string(), fc.string(), fc.integer({ min: 0, max: 2 ** 31 - 1 })),
);
// Few timestamps and expiries, so that equal ones are common.
const anyCell = (value: fc.Arbitrary<CellValue>): fc.Arbitrary<Cell> =>
  fc.record({
    value,
    timestamp: fc.bigInt({ min: 0n, max: 3n }),
    expiresAtS: fc.constantFrom(NEVER, 10, 20),
  });
const bytesCell = anyCell(fc.uint8Array({ maxLength: 2 }).map((bytes) => Buffer.from(bytes)));

describe('reconcile', () => {
  it('the higher timestamp wins', () => {
    const low: Cell = { value: 9, timestamp: 1n, expiresAtS: 20 };
    const high: Cell = { value: 1, timestamp: 2n, expiresAtS: NEVER };
    expect(reconcile(low, high)).toBe(high);
    expect(reconcile(high, low)).toBe(high);
  });

  it('does not depend on the order of arrival', () => {
    fc.assert(
      fc.property(bytesCell, bytesCell, bytesCell, (a, b, c) => {
        expect(reconcile(a, b)).toEqual(reconcile(b, a));
        expect(reconcile(reconcile(a, b), c)).toEqual(reconcile(a, reconcile(b, c)));
        expect(reconcile(a, a)).toEqual(a);
      }),
      { verbose: 1 },
    );
  });

  it.each<[CellValue, CellValue]>([
    [1, -1],
    [255n, 254n],
    [-1n, 1n],
    ['b', 'a'],
    ['\u{1f44d}', '\uff5e'],
    [Buffer.from([1, 0]), Buffer.from([1])],
    [
      ['a', 'b', 2],
      ['a', 'b', 1],
    ],
  ])('of values %s and %s of one write the one with the greater bytes in CQL wins', (a, b) => {
    // −1 is ff ff ff ff in CQL, so it is the greater one of the first pair.
    const greater = a === 1 ? b : a;
    const cell = (value: CellValue): Cell => ({ value, timestamp: 1n, expiresAtS: NEVER });
    expect(reconcile(cell(a), cell(b)).value).toEqual(greater);
    expect(reconcile(cell(b), cell(a)).value).toEqual(greater);
  });
});

describe('rows', () => {
  it('a cell is live until the second it expires', () => {
    const cell: Cell = { value: 1, timestamp: 1n, expiresAtS: 10 };
    expect([9, 10, 11].map((nowS) => isLive(cell, nowS))).toEqual([true, false, false]);
    expect(isLive({ ...cell, expiresAtS: NEVER }, 2 ** 40)).toBe(true);
  });

  it('merge leaves the former row as it was', () => {
    const former: Row = new Map([[1, { value: 1, timestamp: 1n, expiresAtS: NEVER }]]);
    const merged = merge(former, [[1, 2]], 2n, NEVER);
    expect(former.get(1)?.value).toBe(1);
    expect(merged.get(1)?.value).toBe(2);
  });

  it('the last expiry is that of the cell that goes last, or never', () => {
    const cell = (expiresAtS: number): Cell => ({ value: 1, timestamp: 1n, expiresAtS });
    expect(
      lastExpiry(
        new Map([
          [1, cell(10)],
          [2, cell(20)],
        ]),
      ),
    ).toBe(20);
    expect(
      lastExpiry(
        new Map([
          [1, cell(10)],
          [2, cell(NEVER)],
        ]),
      ),
    ).toBe(NEVER);
  });

  it('B01 come back from their bytes exactly, whatever the columns hold', () => {
    const anyRow = fc
      .array(fc.tuple(fc.oneof(fc.nat({ max: 30 }), fc.string({ unit: 'binary' })), anyCell(anyValue)), {
        maxLength: 25,
      })
      .map((entries) => new Map(entries));
    fc.assert(
      fc.property(anyRow, (row) => {
        const back = decodeRow(encodeRow(row));
        expect(new Map([...back].sort(byColumn))).toEqual(new Map([...row].sort(byColumn)));
      }),
      { verbose: 1 },
    );
  });
});

const byColumn = ([a]: [number | string, Cell], [b]: [number | string, Cell]) =>
  `${typeof a}${a}` < `${typeof b}${b}` ? -1 : 1;
