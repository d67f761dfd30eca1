/**
 * Runs a writing operation over the items of an input: items of one conversation one after the other in their order,
 * several conversations side by side. Each item settles for itself, with its result or its coded error. A stop, or too
 * many failures in a row for want of a store, a log or a key, leaves the rest untried, and says so of each.
 */
import { MailjoinError } from '../domain/errors.js';
import { idKeyAt } from '../domain/ids.js';
import { INPUT_CONVERSATIONS_IN_FLIGHT, INPUT_FAILURES_MAX } from '../domain/limits.js';
import type { InputItem } from './read-input.js';

/** What an item is about, in any operation. */
export interface OfConversation {
  readonly conversationId: Uint8Array;
}

export interface ItemOutcome<T, R> {
  readonly line: number;
  /** undefined where the item could not be read. */
  readonly item: T | undefined;
  readonly result: R | undefined;
  /** undefined where it succeeded. */
  readonly error: MailjoinError | undefined;
}

/** An input that was looked at: what there is to do, and what is no item. */
export interface SortedItems<T> {
  readonly lines: readonly number[];
  /** The items of each conversation in their order, by their place in the input. */
  readonly conversations: readonly (readonly { readonly index: number; readonly item: T }[])[];
  readonly refused: readonly { readonly index: number; readonly error: MailjoinError }[];
  /** Items of the conversation that has the most. */
  readonly longest: number;
}

/** Parses every item; one that cannot be parsed is refused alone. */
export function sortItems<T extends OfConversation>(
  items: readonly InputItem[],
  parse: (value: unknown) => T,
): SortedItems<T> {
  const conversations = new Map<string, { index: number; item: T }[]>();
  const refused: { index: number; error: MailjoinError }[] = [];
  for (const [index, { value, problem }] of items.entries()) {
    try {
      if (problem !== undefined) throw problem;
      const item = parse(value);
      const key = idKeyAt(item.conversationId, 0);
      const queue = conversations.get(key) ?? [];
      queue.push({ index, item });
      conversations.set(key, queue);
    } catch (error) {
      refused.push({ index, error: codedError(error) });
    }
  }
  const queues = [...conversations.values()];
  const longest = queues.reduce((most, { length }) => Math.max(most, length), 0);
  return { lines: items.map(({ line }) => line), conversations: queues, refused, longest };
}

export interface ItemsRun<T, R> {
  readonly items: SortedItems<T>;
  readonly perform: (item: T) => Promise<R>;
  /** Told of every outcome, in the order of the input. */
  readonly onOutcome: (outcome: ItemOutcome<T, R>) => void;
  readonly signal: AbortSignal;
}

/** Resolves to true when every item succeeded. */
export async function writeItems<T, R>({
  items,
  perform,
  onOutcome,
  signal,
}: ItemsRun<T, R>): Promise<boolean> {
  const { lines, conversations, refused } = items;
  const outcomes: (ItemOutcome<T, R> | undefined)[] = lines.map(() => undefined);
  let told = 0;
  let failedInARow = 0;
  let hasFailed = false;
  const settle = (index: number, outcome: Omit<ItemOutcome<T, R>, 'line'>): void => {
    hasFailed ||= outcome.error !== undefined;
    outcomes[index] = { line: lines[index] as number, ...outcome };
    for (let next = outcomes[told]; next !== undefined; next = outcomes[told]) {
      onOutcome(next);
      told++;
    }
  };
  for (const { index, error } of refused) settle(index, { item: undefined, result: undefined, error });

  const attempt = async (item: T): Promise<Omit<ItemOutcome<T, R>, 'line'>> => {
    if (signal.aborted || failedInARow >= INPUT_FAILURES_MAX) {
      return { item, result: undefined, error: untried(signal.aborted) };
    }
    try {
      const result = await perform(item);
      failedInARow = 0;
      return { item, result, error: undefined };
    } catch (error) {
      const coded = codedError(error);
      failedInARow = coded.retryable ? failedInARow + 1 : 0;
      return { item, result: undefined, error: coded };
    }
  };
  // One iterator for all workers: each takes the next conversation.
  const queues = conversations.values();
  const work = async (): Promise<void> => {
    for (const queue of queues) for (const { index, item } of queue) settle(index, await attempt(item));
  };
  await Promise.all(Array.from({ length: INPUT_CONVERSATIONS_IN_FLIGHT }, work));
  return !hasFailed;
}

function untried(isStopped: boolean): MailjoinError {
  return isStopped
    ? new MailjoinError('SHUTTING_DOWN', 'not tried: the command was stopped')
    : new MailjoinError('OVERLOADED', `not tried: ${INPUT_FAILURES_MAX} items before it failed in a row`);
}

/** An error without a code is a bug, and that item's alone. */
function codedError(error: unknown): MailjoinError {
  if (error instanceof MailjoinError) return error;
  return new MailjoinError('INTERNAL', undefined, { cause: error });
}
