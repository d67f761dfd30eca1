/**
 * The demo's data set: three tenants, groups and 1:1 chats of Zipf popularity, a few thousand messages, and the
 * batches that are joined with it. Pure: everything follows from the seed and the time given.
 */
import { type TenantId, tenantIdOf } from '../domain/ids.js';
import { type DekId, RetentionClass } from '../domain/message.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import { type DemoBatch, demoBatches } from './demo-batches.js';
import { type ConversationPlan, demoConversation } from './demo-conversation.js';
import type { DemoConversation, DemoMessage } from './demo-message.js';
import { type DemoOddities, demoOddities } from './demo-oddities.js';
import { DemoRandom } from './demo-random.js';

export interface DemoDataset {
  readonly seed: number;
  readonly nowEpochMs: number;
  readonly tenantIds: readonly TenantId[];
  /** All conversations; each message lies in exactly one. */
  readonly conversations: readonly DemoConversation[];
  readonly messages: readonly DemoMessage[];
  /** Data keys to make before filling, versions of an id ascending. */
  readonly dekIds: readonly DekId[];
  /** Data keys to destroy after filling and before the batches, which expect ERASED for what they seal. */
  readonly dekIdsToDestroy: readonly DekId[];
  readonly batches: readonly DemoBatch[];
}

export const DEMO_SEED_DEFAULT = 20_260_101;

const DAY_SECONDS = 86_400;
/** Share of the conversations, retention and class of each tenant (R3.1). */
const TENANTS = [
  { share: 0.55, retentionSeconds: 30 * DAY_SECONDS, retentionClass: RetentionClass.DEFAULT },
  { share: 0.3, retentionSeconds: 90 * DAY_SECONDS, retentionClass: RetentionClass.TENANT_CUSTOM },
  { share: 0.15, retentionSeconds: 30 * DAY_SECONDS, retentionClass: RetentionClass.DEFAULT },
] as const;
/** The group of the "one group × 500" backlog: consecutive seqs across the first bucket boundary (S-1). */
const BIG_GROUP = { messageCount: 640, firstSeq: BigInt(BUCKET_WIDTH - 320) };
const CONVERSATIONS = 110;
/** Messages of the most popular conversation beside the big group; rank r has 1 / (r + 1)^skew of it. */
const HOTTEST_MESSAGES = 420;
const POPULARITY_SKEW = 0.75;
const CHAT_MESSAGES_MIN = 8;

export function demoDataset(seed: number, nowEpochMs: number): DemoDataset {
  const random = new DemoRandom(seed);
  // 16 bytes are what a tenant id is made of.
  const tenantIds = TENANTS.map(() => tenantIdOf(random.bytes(16)) as TenantId);
  const bigGroup = demoConversation(random, bigGroupPlan(tenantIds[0] as TenantId), nowEpochMs);
  const ranked = Array.from({ length: CONVERSATIONS }, (_, rank) =>
    demoConversation(random, rankedPlan(random, tenantIds, rank), nowEpochMs),
  );
  const oddities: DemoOddities = demoOddities(random, tenantIds[0] as TenantId, nowEpochMs);
  const conversations = [bigGroup, ...ranked, oddities.odd, oddities.erased];
  return {
    seed,
    nowEpochMs,
    tenantIds,
    conversations,
    messages: conversations.flatMap((conversation) => conversation.messages),
    dekIds: conversations.flatMap((conversation) => conversation.dekIds),
    dekIdsToDestroy: oddities.erased.dekIds,
    batches: demoBatches(random, bigGroup, ranked, oddities, tenantIds),
  };
}

function bigGroupPlan(tenantId: TenantId): ConversationPlan {
  const { retentionSeconds, retentionClass } = TENANTS[0];
  return { ...BIG_GROUP, tenantId, kind: 'group', hasHoles: false, retentionSeconds, retentionClass };
}

function rankedPlan(random: DemoRandom, tenantIds: readonly TenantId[], rank: number): ConversationPlan {
  const die = random.fraction();
  const index = die < TENANTS[0].share ? 0 : die < TENANTS[0].share + TENANTS[1].share ? 1 : 2;
  const { retentionSeconds, retentionClass } = TENANTS[index];
  const popular = Math.round(HOTTEST_MESSAGES / (rank + 1) ** POPULARITY_SKEW);
  // A third of the conversations cross a bucket boundary somewhere.
  const boundary = BigInt(BUCKET_WIDTH) * BigInt(random.between(1, 300));
  const firstSeq = random.chance(0.33)
    ? boundary - BigInt(random.between(1, 12))
    : BigInt(random.between(1, 3000));
  return {
    tenantId: tenantIds[index] as TenantId,
    kind: rank < 12 ? 'group' : 'direct',
    messageCount: Math.max(CHAT_MESSAGES_MIN, popular),
    firstSeq,
    hasHoles: true,
    retentionSeconds,
    retentionClass,
  };
}
