/** Makes one conversation of the demo: its seqs with their holes, its keys, and its messages one after the other. */
import { CONVERSATION_SCOPE, conversationKeyId } from '../crypto/conversation-key.js';
import type { ActivityId, ConversationId, MessageId, TenantId, UserId } from '../domain/ids.js';
import { activityIdOf, conversationIdOf, messageIdOf, userIdOf } from '../domain/ids.js';
import {
  type DekId,
  type MessageRecord,
  MessageState,
  type ReactionSummary,
  RetentionClass,
} from '../domain/message.js';
import { BUCKET_WIDTH } from '../domain/seq.js';
import { demoMedia, demoMentions } from './demo-media.js';
import {
  bodyOf,
  type DemoContent,
  type DemoConversation,
  type DemoEdit,
  type DemoExpectation,
  type DemoMessage,
  type DemoRecall,
  reactionsOf,
  recalledBody,
} from './demo-message.js';
import type { DemoRandom } from './demo-random.js';
import { demoText, REACTION_KEYS } from './demo-texts.js';

export interface ConversationPlan {
  readonly tenantId: TenantId;
  readonly kind: 'group' | 'direct';
  readonly messageCount: number;
  readonly firstSeq: bigint;
  /** False: consecutive seqs. True: small holes, and sometimes a crashed reservation window (4,096 seqs). */
  readonly hasHoles: boolean;
  /** The tenant's retention in seconds, and its class. */
  readonly retentionSeconds: number;
  readonly retentionClass: number;
}

const MESSAGE_TYPE = { TEXT: 1, IMAGE: 2, VIDEO: 3, CUSTOM: 8, ENCRYPTED: 9 } as const;
const DAY_MS = 86_400_000;
const EPHEMERAL_SECONDS = 86_400;

/** A conversation under way. */
interface Making {
  readonly random: DemoRandom;
  readonly plan: ConversationPlan;
  readonly conversationId: ConversationId;
  readonly members: readonly UserId[];
  readonly nowEpochMs: number;
  readonly seqs: readonly bigint[];
  /** The seq of the next CONTROL event: recalls are events of the conversation and have seqs of their own (R5.4). */
  nextEventSeq: bigint;
}

export function demoConversation(
  random: DemoRandom,
  plan: ConversationPlan,
  nowEpochMs: number,
): DemoConversation {
  const conversationId = sixteen(random.bytes(16), conversationIdOf);
  const memberCount = plan.kind === 'group' ? random.between(5, 60) : 2;
  const seqs = seqsOf(random, plan);
  const making: Making = {
    random,
    plan,
    conversationId,
    members: Array.from({ length: memberCount }, () => sixteen(random.bytes(16), userIdOf)),
    nowEpochMs,
    seqs,
    nextEventSeq: (seqs.at(-1) ?? plan.firstSeq) + 1n,
  };
  const versions = random.chance(0.15) ? 2 : 1;
  const dekIds = Array.from({ length: versions }, (_, i) => dekIdOf(plan.tenantId, conversationId, i + 1));
  let createdAtMs = nowEpochMs - random.between(DAY_MS / 24, 6 * DAY_MS);
  const stepMs = Math.max(1, Math.floor((nowEpochMs - createdAtMs) / (seqs.length + 1)));
  const messages = seqs.map((seq, index) => {
    createdAtMs += random.between(1, stepMs);
    // A rotated key seals what comes after the rotation.
    const dekId = dekIds[Math.floor((index * versions) / seqs.length)] as DekId;
    return demoMessage(making, seq, index, createdAtMs, dekId);
  });
  return { tenantId: plan.tenantId, conversationId, kind: plan.kind, messages, dekIds };
}

function seqsOf(random: DemoRandom, plan: ConversationPlan): bigint[] {
  const seqs: bigint[] = [];
  let seq = plan.firstSeq;
  for (let i = 0; i < plan.messageCount; i++) {
    seqs.push(seq);
    seq += 1n;
    if (!plan.hasHoles) continue;
    if (random.chance(0.03)) seq += BigInt(random.between(1, 5));
    if (random.chance(0.002)) seq += BigInt(BUCKET_WIDTH);
  }
  return seqs;
}

function dekIdOf(tenantId: TenantId, conversationId: ConversationId, version: number): DekId {
  return { scope: CONVERSATION_SCOPE, id: conversationKeyId(tenantId, conversationId), version };
}

function demoMessage(
  making: Making,
  seq: bigint,
  index: number,
  createdAtMs: number,
  dekId: DekId,
): DemoMessage {
  const { random, plan, conversationId } = making;
  const { kind, plaintext, media } = contentOf(making);
  const { retentionClass, ttlSeconds } = lifeOf(making, createdAtMs);
  const isReply = index > 0 && random.chance(0.12);
  const isDeleted = random.chance(0.007);
  const record: MessageRecord = {
    seq,
    messageId: timed(random, createdAtMs, messageIdOf),
    lastActivityId: timed(random, createdAtMs, activityIdOf),
    senderId: random.pick(making.members),
    senderDeviceId: sixteen(random.bytes(16), userIdOf),
    clientMessageId: random.bytes(8).toString('hex'),
    messageType: MESSAGE_TYPE[kind],
    customType: kind === 'CUSTOM' ? 'app.poll' : undefined,
    schemaVersion: 1,
    payload: undefined,
    mediaMetadata: media,
    replyToSeq: isReply ? making.seqs[random.between(Math.max(0, index - 50), index - 1)] : undefined,
    mentionTargets: plan.kind === 'group' ? demoMentions(random, making.members) : undefined,
    state: isDeleted ? MessageState.DELETED : MessageState.NORMAL,
    recallEventSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs: BigInt(createdAtMs),
    retentionClass,
    dekId,
    ttlSeconds: undefined,
  };
  const content: DemoContent = { plaintext, dekId, sealSeq: seq };
  const edit =
    !isDeleted && kind === 'TEXT' && random.chance(0.05) ? editOf(making, seq, record, dekId) : undefined;
  const recall = !isDeleted && random.chance(0.03) ? recallOf(making, record) : undefined;
  const summaries = random.chance(plan.kind === 'group' ? 0.18 : 0.06)
    ? summariesOf(random, seq, createdAtMs)
    : [];
  const where = { tenantId: plan.tenantId, conversationId, seq };
  const body = bodyOf(record, conversationId, content, edit, reactionsOf(summaries));
  const expected: DemoExpectation = isDeleted
    ? { result: 'NOT_FOUND' }
    : recall === undefined
      ? { result: 'OK', body }
      : { result: 'RECALLED', body: recalledBody(body, recall) };
  return { where, record, content, ttlSeconds, edit, recall, summaries, expected };
}

function contentOf(making: Making): {
  kind: keyof typeof MESSAGE_TYPE;
  plaintext: Uint8Array;
  media: Uint8Array | undefined;
} {
  const { random } = making;
  const die = random.fraction();
  if (die < 0.08) {
    const kind = random.chance(0.8) ? 'IMAGE' : 'VIDEO';
    const caption = Buffer.from(random.chance(0.5) ? demoText(random, 1) : '');
    return { kind, plaintext: caption, media: demoMedia(random, kind === 'VIDEO') };
  }
  // An end-to-end encrypted payload is opaque to the server, which seals it once more (R6.3).
  if (die < 0.2)
    return { kind: 'ENCRYPTED', plaintext: random.bytes(random.between(80, 1500)), media: undefined };
  if (die < 0.22) {
    const poll = { question: demoText(random, 1), options: [demoText(random, 1), demoText(random, 1)] };
    return { kind: 'CUSTOM', plaintext: Buffer.from(JSON.stringify(poll)), media: undefined };
  }
  const phrasesMax = random.chance(0.03) ? 80 : 5;
  return { kind: 'TEXT', plaintext: Buffer.from(demoText(random, phrasesMax)), media: undefined };
}

/** R3.1: the TTL written is what remains; a hold has none. */
function lifeOf(
  making: Making,
  createdAtMs: number,
): { retentionClass: number; ttlSeconds: number | undefined } {
  const { random, plan, nowEpochMs } = making;
  const ageSeconds = Math.ceil((nowEpochMs - createdAtMs) / 1000);
  if (random.chance(0.01)) return { retentionClass: RetentionClass.COMPLIANCE_HOLD, ttlSeconds: undefined };
  if (ageSeconds < EPHEMERAL_SECONDS * 0.8 && random.chance(0.05)) {
    return { retentionClass: RetentionClass.EPHEMERAL_24H, ttlSeconds: EPHEMERAL_SECONDS - ageSeconds };
  }
  return { retentionClass: plan.retentionClass, ttlSeconds: plan.retentionSeconds - ageSeconds };
}

function editOf(making: Making, seq: bigint, record: MessageRecord, dekId: DekId): DemoEdit {
  const { random } = making;
  const editedAtMs = Number(record.createdAtMs) + random.between(1000, 60_000);
  return {
    content: { plaintext: Buffer.from(demoText(random, 3)), dekId, sealSeq: seq },
    activityId: timed(random, editedAtMs, activityIdOf),
    timestampMicros: BigInt(editedAtMs) * 1000n,
  };
}

function recallOf(making: Making, record: MessageRecord): DemoRecall {
  const recalledAtMs = Number(record.createdAtMs) + making.random.between(61_000, 120_000);
  return {
    recallEventSeq: making.nextEventSeq++,
    activityId: timed(making.random, recalledAtMs, activityIdOf),
    timestampMicros: BigInt(recalledAtMs) * 1000n,
  };
}

/** One to three versions; sometimes the last one takes everything back, sometimes an old one arrives late. */
function summariesOf(random: DemoRandom, seq: bigint, createdAtMs: number): ReactionSummary[] {
  const keys = REACTION_KEYS.filter(() => random.chance(0.25));
  if (keys.length === 0) keys.push('👍');
  const versions = random.between(1, 3);
  const summaries = Array.from({ length: versions }, (_, i): ReactionSummary => {
    const isTakenBack = i === versions - 1 && random.chance(0.08);
    const counts = keys.map((key) => [key, isTakenBack ? 0 : random.between(1, 40)] as const);
    return { seq, counts, version: BigInt(i + 1), updatedAtMs: BigInt(createdAtMs + (i + 1) * 1000) };
  });
  return random.chance(0.1) ? summaries.reverse() : summaries;
}

/** 16 bytes that begin with a time in milliseconds, so that they sort by it, as u128 ids of the contract do (R1). */
function timed<T extends MessageId | ActivityId>(
  random: DemoRandom,
  epochMs: number,
  parse: (bytes: Uint8Array) => T | undefined,
): T {
  const bytes = random.bytes(16);
  bytes.writeUIntBE(epochMs, 0, 6);
  return sixteen(bytes, parse);
}

function sixteen<T>(bytes: Uint8Array, parse: (bytes: Uint8Array) => T | undefined): T {
  // The callers make exactly 16 bytes, which every id's parser takes.
  return parse(bytes) as T;
}
