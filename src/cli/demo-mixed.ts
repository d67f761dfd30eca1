/**
 * The mixed backlog: good references between every kind of bad one, so that a reader sees that none spoils its
 * neighbours. What is wrong with an entry is said by the name of the function that makes it.
 */
import type { DemoEntry } from './demo-batches.js';
import { entryOf } from './demo-batches.js';
import type { DemoConversation, DemoMessage } from './demo-message.js';
import type { DemoOddities } from './demo-oddities.js';
import type { DemoRandom } from './demo-random.js';

const GOOD_ENTRIES = 40;
const ABOVE_EVERY_SEQ = 2n ** 62n;

export function mixedEntries(
  random: DemoRandom,
  own: readonly DemoConversation[],
  foreign: DemoConversation | undefined,
  oddities: DemoOddities,
): DemoEntry[] {
  const everything = own.flatMap((conversation) => conversation.messages);
  const good = Array.from({ length: GOOD_ENTRIES }, () => random.pick(everything));
  const recalled = everything.find((message) => message.expected.result === 'RECALLED');
  const [a, b, c, ...others] = oddities.sound;
  const entries = [...good, ...others, recalled].filter((message) => message !== undefined).map(entryOf);
  // Duplicates: each of these is asked for three times.
  const twice = good.slice(0, 5).map(entryOf);
  entries.push(...twice, ...twice);
  entries.push(...[oddities.moved, oddities.unsealed, oddities.deleted].map(entryOf));
  entries.push(...oddities.erased.messages.slice(0, 3).map(entryOf));
  if (foreign !== undefined) entries.push(...foreign.messages.slice(0, 2).map(ofAnotherTenant));
  for (const message of [a, b, c]) {
    if (message !== undefined) entries.push(...badReferencesTo(message, random));
  }
  if (a !== undefined && b !== undefined) entries.push(withIdOf(a, b));
  if (c !== undefined) entries.push(aheadOfTheStore(c));
  return shuffled(entries, random);
}

/** Coordinates and id of a message that exists, but not for this tenant: the same answer as for an unknown one (B42). */
function ofAnotherTenant(message: DemoMessage): DemoEntry {
  return { entry: entryOf(message).entry, expected: { result: 'NOT_FOUND' } };
}

/** The row at these coordinates has another message_id. */
function withIdOf(message: DemoMessage, other: DemoMessage): DemoEntry {
  const entry = { ...entryOf(message).entry, messageId: other.record.messageId };
  return { entry, expected: { result: 'MISMATCH' } };
}

/** The caller knows of a later revision than the store has. */
function aheadOfTheStore(message: DemoMessage): DemoEntry {
  const entry = { ...entryOf(message).entry, floor: { lastActivityId: Buffer.alloc(16, 0xff) } };
  return { entry, expected: { result: 'NOT_YET' } };
}

function badReferencesTo(message: DemoMessage, random: DemoRandom): DemoEntry[] {
  const { entry } = entryOf(message);
  const { conversationId } = message.where;
  const { messageId } = message.record;
  const inlineBody = random.bytes(120);
  const invalid = (invalidReason: string): DemoEntry['expected'] => ({ result: 'INVALID', invalidReason });
  return [
    { entry: { ...entry, inlineBody }, expected: { result: 'INLINE', inlineBody } },
    { entry: { ...entry, seq: ABOVE_EVERY_SEQ }, expected: { result: 'NOT_FOUND' } },
    { entry: { ...entry, conversationId: random.bytes(16) }, expected: { result: 'NOT_FOUND' } },
    {
      entry: { ...entry, conversationId: conversationId.subarray(1) },
      expected: invalid('CONVERSATION_ID_LENGTH'),
    },
    {
      entry: { ...entry, messageId: Buffer.concat([messageId, Buffer.alloc(1)]) },
      expected: invalid('MESSAGE_ID_LENGTH'),
    },
    { entry: { ...entry, seq: 2n ** 63n }, expected: invalid('SEQ_RANGE') },
    { entry: { ...entry, mailboxSeq: 2n ** 63n + 5n }, expected: invalid('MAILBOX_SEQ_RANGE') },
  ];
}

function shuffled<T>(list: readonly T[], random: DemoRandom): T[] {
  return list
    .map((item) => ({ item, order: random.uint32() }))
    .sort((x, y) => x.order - y.order)
    .map(({ item }) => item);
}
