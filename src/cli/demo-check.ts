/** Compares what a join answered with what the demo stored, field by field. Pure. */
import type { EntryOutcome, MessageBody } from '../client/index.js';
import { decodeMessageBody } from '../client/index.js';
import type { DemoExpectation } from './demo-message.js';

/** What is wrong with an outcome, in words for a person, or undefined when all is as expected. */
export function differenceOf(
  expected: DemoExpectation,
  outcome: Pick<EntryOutcome, 'result' | 'invalidReason' | 'body'>,
): string | undefined {
  if (outcome.result !== expected.result) return `${outcome.result} instead of ${expected.result}`;
  if (outcome.invalidReason !== expected.invalidReason) {
    return `INVALID for ${outcome.invalidReason} instead of ${expected.invalidReason}`;
  }
  if (expected.inlineBody !== undefined) {
    return isSame(expected.inlineBody, outcome.body) ? undefined : 'the inline body differs';
  }
  if (expected.body === undefined) {
    return outcome.body === undefined ? undefined : `${outcome.result} with a body`;
  }
  if (outcome.body === undefined) return `${outcome.result} without a body`;
  return bodyDifference(expected.body, decodeMessageBody(outcome.body));
}

function bodyDifference(expected: MessageBody, actual: MessageBody): string | undefined {
  // Both have exactly MessageBody's fields: the type says so of one, the decoder makes the other.
  for (const name of Object.keys(expected) as (keyof MessageBody)[]) {
    if (!isSame(expected[name], actual[name])) return `${name} differs`;
  }
  return undefined;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Map) {
    return b instanceof Map && a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
  }
  if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null) {
    const left = Object.entries(a);
    const right = new Map(Object.entries(b));
    return left.length === right.size && left.every(([key, value]) => isSame(value, right.get(key)));
  }
  return a === b;
}
