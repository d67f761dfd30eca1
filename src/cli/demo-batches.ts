/**
 * The batches that the demo joins, each entry with the result that it must have: a group's backlog of 500, a device's
 * backlog of 20 chats × 5, a mixed one with every kind of bad reference, and small live batches skewed to hot messages.
 */
import type { JoinEntry } from '../client/index.js';
import type { TenantId } from '../domain/ids.js';
import { bucketOf } from '../domain/seq.js';
import type { DemoConversation, DemoExpectation, DemoMessage } from './demo-message.js';
import { mixedEntries } from './demo-mixed.js';
import type { DemoOddities } from './demo-oddities.js';
import type { DemoRandom } from './demo-random.js';

export interface DemoEntry {
  readonly entry: JoinEntry;
  readonly expected: DemoExpectation;
}

export interface DemoBatch {
  readonly name: string;
  readonly kind: 'MAILBOX_BATCH' | 'PUSH_EVENTS';
  readonly tenantId: TenantId;
  readonly entries: readonly DemoEntry[];
  /** Reads of message_record that it may cost with a cold cache (S-1); undefined where no bound is stated. */
  readonly recordReadsMax: number | undefined;
}

const GROUP_BACKLOG = 500;
const CHATS = 20;
const CHAT_BACKLOG = 5;
const PUSH_BATCHES = 60;
const PUSH_ENTRIES_MAX = 6;
/** The newest messages of a tenant that live delivery is about, and how strongly it prefers the first of them. */
const HOT_MESSAGES = 150;
const HOT_SKEW = 1.1;

export function demoBatches(
  random: DemoRandom,
  bigGroup: DemoConversation,
  ranked: readonly DemoConversation[],
  oddities: DemoOddities,
  tenantIds: readonly TenantId[],
): DemoBatch[] {
  const { tenantId } = bigGroup;
  const newest = bigGroup.messages.slice(-GROUP_BACKLOG);
  const chats = ranked
    .filter((chat) => chat.kind === 'direct' && chat.tenantId === tenantId && endsInOneBucket(chat))
    .slice(0, CHATS);
  const foreign = ranked.find((conversation) => conversation.tenantId !== tenantId);
  const own = ranked.filter((conversation) => conversation.tenantId === tenantId);
  const backlog = { kind: 'MAILBOX_BATCH', tenantId } as const;
  return [
    {
      ...backlog,
      name: `one group × ${GROUP_BACKLOG}`,
      entries: newest.map(entryOf),
      recordReadsMax: 2,
    },
    {
      ...backlog,
      name: `${CHATS} chats × ${CHAT_BACKLOG}`,
      entries: chats.flatMap((chat) => chat.messages.slice(-CHAT_BACKLOG).map(entryOf)),
      recordReadsMax: CHATS + 1,
    },
    {
      ...backlog,
      name: 'mixed: inline, missing, duplicate, wrong',
      entries: mixedEntries(random, own, foreign, oddities),
      recordReadsMax: undefined,
    },
    ...pushBatches(random, [bigGroup, ...ranked], tenantIds),
  ];
}

/** The entry that a mailbox has for a message. */
export function entryOf({ where, record, expected }: DemoMessage): DemoEntry {
  const { conversationId, seq } = where;
  return { entry: { conversationId, seq, messageId: record.messageId }, expected };
}

function endsInOneBucket(chat: DemoConversation): boolean {
  const last = chat.messages.slice(-CHAT_BACKLOG).map((message) => bucketOf(message.where.seq));
  return last.length === CHAT_BACKLOG && last.every((bucket) => bucket === last[0]);
}

/** Live delivery: one to a few entries each, mostly about the same hot messages. */
function pushBatches(
  random: DemoRandom,
  conversations: readonly DemoConversation[],
  tenantIds: readonly TenantId[],
): DemoBatch[] {
  const hot = new Map(
    tenantIds.map((tenantId) => {
      const messages = conversations
        .filter((conversation) => conversation.tenantId === tenantId)
        .flatMap((conversation) => conversation.messages);
      const byAge = messages.sort((a, b) => Number(b.record.createdAtMs - a.record.createdAtMs));
      return [tenantId, byAge.slice(0, HOT_MESSAGES)] as const;
    }),
  );
  return Array.from({ length: PUSH_BATCHES }, (_, i) => {
    const tenantId = random.pick(tenantIds);
    const messages = hot.get(tenantId) ?? [];
    const count = random.between(1, PUSH_ENTRIES_MAX);
    return {
      name: `push ${i + 1}`,
      kind: 'PUSH_EVENTS' as const,
      tenantId,
      // A rank lies below the number of messages.
      entries: Array.from({ length: count }, () =>
        entryOf(messages[random.rank(messages.length, HOT_SKEW)] as DemoMessage),
      ),
      recordReadsMax: undefined,
    };
  });
}
