/**
 * Chooses the statements that read some seqs of one bucket: pure, synchronous (R4.3, D5).
 *
 * Consecutive seqs are one range. Scattered seqs are cut into consecutive pieces, each read as a range (its gaps are
 * surplus rows, read and dropped) or as an IN list, such that the sum of costs under the model is least, with never
 * more than ceil(n / inCap) statements and never more surplus than the model's byte bound in all. Every plan has a first
 * statement, so each piece counts as a further one.
 *
 * A piece's cost is linear in where it starts and ends, so the best last piece that ends at a given seq is a minimum
 * over a sliding window of starts: O(n) for pieces at a price each, which mostly settles it, and O(n · k) to be exact
 * where it does not, with n seqs and k statements; beyond a bound of steps the nearly cheapest pieces are taken.
 */
import { strict as assert } from 'node:assert';
import { PARTITION_ROWS_MAX } from '../domain/limits.js';
import type { ReadStatement } from '../domain/statement.js';
import type { ReadCostModel } from './read-cost-model.js';

/** `seqs`: ascending, distinct, all of one bucket, 1 … 4,096 of them. */
export function planStatements(seqs: readonly bigint[], model: ReadCostModel): ReadStatement[] {
  const count = seqs.length;
  assert(count > 0 && count <= PARTITION_ROWS_MAX);
  const first = seqs[0] as bigint;
  const span = Number((seqs[count - 1] as bigint) - first) + 1;
  if (span === count) return [piece(seqs, 0, count, true)];
  const statementsMax = Math.ceil(count / model.inCap);
  const surplusMax = Math.floor(model.surplusBytesMax / model.surplusRowBytes / statementsMax);
  if (statementsMax === 1) {
    const asRange =
      span - count <= surplusMax && span * model.rangeRowMicros <= count * model.inElementMicros;
    return [piece(seqs, 0, count, asRange)];
  }
  const offsets = Int32Array.from(seqs, (seq) => Number(seq - first));
  return cheapestPieces(offsets, statementsMax, surplusMax, model).map(({ from, to, asRange }) =>
    piece(seqs, from, to, asRange),
  );
}

/** The statement for seqs[from … to). */
function piece(seqs: readonly bigint[], from: number, to: number, asRange: boolean): ReadStatement {
  const low = seqs[from] as bigint;
  const high = seqs[to - 1] as bigint;
  if (Number(high - low) + 1 === to - from) return { shape: 'range', from: low, to: high };
  return asRange ? { shape: 'covering', from: low, to: high } : { shape: 'in', seqs: seqs.slice(from, to) };
}

interface Piece {
  readonly from: number;
  readonly to: number;
  readonly asRange: boolean;
}

function cheapestPieces(
  offsets: Int32Array,
  statementsMax: number,
  surplusMax: number,
  model: ReadCostModel,
): Piece[] {
  const priced = cheapestAtPrice(offsets, statementsMax, surplusMax, model);
  if (priced.isExact) return priced.pieces;
  if (offsets.length * statementsMax <= EXACT_STEPS_MAX) {
    return cheapestOfCounts(offsets, statementsMax, surplusMax, model);
  }
  const lists = fullLists(offsets.length, model.inCap);
  return costOf(lists, offsets, model) < costOf(priced.pieces, offsets, model) ? lists : priced.pieces;
}

/** IN lists alone, as few as they can be. */
function fullLists(count: number, inCap: number): Piece[] {
  const lists: Piece[] = [];
  for (let from = 0; from < count; from += inCap) {
    lists.push({ from, to: Math.min(count, from + inCap), asRange: false });
  }
  return lists;
}

function costOf(pieces: readonly Piece[], offsets: Int32Array, model: ReadCostModel): number {
  let micros = pieces.length * model.furtherStatementMicros;
  for (const { from, to, asRange } of pieces) {
    const span = (offsets[to - 1] as number) - (offsets[from] as number) + 1;
    micros += asRange ? span * model.rangeRowMicros : (to - from) * model.inElementMicros;
  }
  return micros;
}

/** Steps that a plan may take to be exact where a price is not: some milliseconds of the thread that serves everybody. */
const EXACT_STEPS_MAX = 50_000;
/** Halvings of the price's interval. */
const PRICE_STEPS = 12;

/**
 * The cheapest pieces when each has a price beside its cost. Without a price one pass suffices, and mostly its pieces are
 * few enough. Else the least price is looked for at which they are: pieces that are then exactly as many as allowed are
 * the cheapest of all (Everett's theorem), fewer ones are nearly so.
 */
function cheapestAtPrice(
  offsets: Int32Array,
  statementsMax: number,
  surplusMax: number,
  model: ReadCostModel,
): { pieces: Piece[]; isExact: boolean } {
  const count = offsets.length;
  const choice = new Int32Array(count + 1);
  const at = (price: number): Piece[] => {
    const furtherStatementMicros = model.furtherStatementMicros + price;
    addPiece(undefined, choice, offsets, surplusMax, { ...model, furtherStatementMicros });
    return piecesOf(count, () => choice);
  };
  let pieces = at(0);
  if (pieces.length <= statementsMax) return { pieces, isExact: true };
  let low = 0;
  // At this price one piece fewer outweighs all that rows can cost.
  let high = 1 + Math.max(model.inElementMicros * count, model.rangeRowMicros * PARTITION_ROWS_MAX);
  pieces = at(high);
  for (let step = 0; step < PRICE_STEPS && pieces.length < statementsMax; step++) {
    const price = (low + high) / 2;
    const priced = at(price);
    if (priced.length > statementsMax) low = price;
    else {
      high = price;
      pieces = priced;
    }
  }
  return { pieces, isExact: pieces.length === statementsMax };
}

/** The cheapest pieces for each number of them up to `statementsMax`, and of these the cheapest: exact, O(n · k). */
function cheapestOfCounts(
  offsets: Int32Array,
  statementsMax: number,
  surplusMax: number,
  model: ReadCostModel,
): Piece[] {
  const count = offsets.length;
  const width = count + 1;
  // cost[j]: the least cost of the first j seqs with exactly `statements` pieces; choice: where the last one starts.
  let cost = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  cost[0] = 0;
  const choices: Int32Array[] = [];
  let bestCost = Number.POSITIVE_INFINITY;
  let bestStatements = 0;
  for (let statements = 1; statements <= statementsMax; statements++) {
    const choice = new Int32Array(width);
    cost = addPiece(cost, choice, offsets, surplusMax, model);
    choices.push(choice);
    if ((cost[count] as number) < bestCost) {
      bestCost = cost[count] as number;
      bestStatements = statements;
    }
  }
  assert(bestStatements > 0, 'full IN chunks always fit');
  return piecesOf(count, (position) => choices[bestStatements - 1 - position] as Int32Array);
}

/** Follows the choices back from the last seq; `choiceOf(0)` is that of the last piece. */
function piecesOf(count: number, choiceOf: (position: number) => Int32Array): Piece[] {
  const pieces: Piece[] = [];
  for (let to = count; to > 0; ) {
    const chosen = choiceOf(pieces.length)[to] as number;
    const asRange = chosen < 0;
    const from = asRange ? -chosen - 1 : chosen;
    pieces.push({ from, to, asRange });
    to = from;
  }
  return pieces.reverse();
}

/**
 * One more piece behind what `previous` covers. choice[j] = start of the last piece that ends before j, as −start − 1
 * when it is a range.
 */
function addPiece(
  previousOrOwn: Float64Array | undefined,
  choice: Int32Array,
  offsets: Int32Array,
  surplusMax: number,
  model: ReadCostModel,
): Float64Array<ArrayBuffer> {
  const count = offsets.length;
  const cost = new Float64Array(count + 1).fill(Number.POSITIVE_INFINITY);
  // Without a former row each piece follows the best pieces of this one.
  if (previousOrOwn === undefined) cost[0] = 0;
  const previous = previousOrOwn ?? cost;
  const rangeStarts = new WindowMinimum(count);
  const inStarts = new WindowMinimum(count);
  let rangeLow = 0;
  for (let end = 1; end <= count; end++) {
    const start = end - 1;
    const last = offsets[end - 1] as number;
    rangeStarts.push(start, (previous[start] as number) - model.rangeRowMicros * (offsets[start] as number));
    inStarts.push(start, (previous[start] as number) - model.inElementMicros * start);
    while (last - (offsets[rangeLow] as number) + 1 - (end - rangeLow) > surplusMax) rangeLow++;
    rangeStarts.dropBelow(rangeLow);
    inStarts.dropBelow(end - model.inCap);
    const asRange = model.furtherStatementMicros + model.rangeRowMicros * (last + 1) + rangeStarts.minimum;
    const asIn = model.furtherStatementMicros + model.inElementMicros * end + inStarts.minimum;
    cost[end] = Math.min(asRange, asIn);
    choice[end] = asRange <= asIn ? -rangeStarts.minimumAt - 1 : inStarts.minimumAt;
  }
  return cost;
}

/** The minimum over a window whose both ends only move up: a queue of candidates with rising values. */
class WindowMinimum {
  private readonly positions: Int32Array;
  private readonly values: Float64Array;
  private head = 0;
  private tail = 0;

  constructor(capacity: number) {
    this.positions = new Int32Array(capacity);
    this.values = new Float64Array(capacity);
  }

  push(position: number, value: number): void {
    while (this.tail > this.head && (this.values[this.tail - 1] as number) >= value) this.tail--;
    this.positions[this.tail] = position;
    this.values[this.tail++] = value;
  }

  dropBelow(position: number): void {
    while (this.tail > this.head && (this.positions[this.head] as number) < position) this.head++;
  }

  get minimum(): number {
    return this.tail > this.head ? (this.values[this.head] as number) : Number.POSITIVE_INFINITY;
  }

  get minimumAt(): number {
    return this.positions[this.head] as number;
  }
}
