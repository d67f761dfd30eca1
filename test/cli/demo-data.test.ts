import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { DEMO_SEED_DEFAULT, demoDataset } from '../../src/cli/demo-data.js';
import { TTL_SECONDS_MAX } from '../../src/domain/limits.js';
import { dekKey } from '../../src/domain/message.js';
import { bucketOf, isSeq } from '../../src/domain/seq.js';

const NOW = 1_767_000_000_000;
const dataset = demoDataset(DEMO_SEED_DEFAULT, NOW);
const { messages, conversations, batches } = dataset;

/** A digest of everything that a data set holds, so that two of them compare quickly. */
function digest(seed: number): string {
  const hash = createHash('sha256');
  const feed = (value: unknown): void => {
    if (value instanceof Uint8Array) hash.update(value);
    else if (value instanceof Map) feed([...value]);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(feed);
    else hash.update(`${typeof value}${String(value)};`);
  };
  feed(demoDataset(seed, NOW));
  return hash.digest('hex');
}

describe('demoDataset', () => {
  it('is the same for the same seed and time, and another for another seed', () => {
    expect(digest(1)).toBe(digest(1));
    expect(digest(1)).not.toBe(digest(2));
  });

  it.each([1, 2, 3, DEMO_SEED_DEFAULT])('has the shapes that the demo promises, with seed %i', (seed) => {
    const made = demoDataset(seed, NOW);
    expect(made.messages.length).toBeGreaterThan(3000);
    expect(made.messages.length).toBeLessThan(5000);
    expect(made.batches.slice(0, 2).map((batch) => batch.entries.length)).toEqual([500, 100]);
    expect(new Set(made.batches[1]?.entries.map(({ entry }) => String(entry.conversationId))).size).toBe(20);
    const mixed = new Set(made.batches[2]?.entries.map(({ expected }) => expected.result));
    expect([...mixed].sort()).toEqual(
      [
        'ERASED',
        'INLINE',
        'INVALID',
        'MISMATCH',
        'NOT_FOUND',
        'NOT_YET',
        'OK',
        'RECALLED',
        'TAMPERED',
      ].sort(),
    );
    for (const batch of made.batches.slice(3)) {
      expect(batch.kind).toBe('PUSH_EVENTS');
      expect(batch.entries.length).toBeGreaterThanOrEqual(1);
      expect(batch.entries.length).toBeLessThanOrEqual(6);
    }
  });

  it('has three tenants with groups and chats of skewed popularity', () => {
    expect(new Set(conversations.map((each) => String(each.tenantId))).size).toBe(3);
    expect(new Set(conversations.map((each) => each.kind)).size).toBe(2);
    const sizes = conversations.map((each) => each.messages.length).sort((a, b) => b - a);
    expect(sizes[0]).toBeGreaterThan(20 * (sizes[60] ?? 0));
  });

  it('names every message once, at seqs that rise within a conversation', () => {
    for (const { messages: own } of conversations) {
      for (let i = 1; i < own.length; i++) {
        expect((own[i]?.where.seq ?? 0n) > (own[i - 1]?.where.seq ?? 0n)).toBe(true);
      }
    }
    const ids = new Set(messages.map((each) => Buffer.from(each.record.messageId).toString('hex')));
    expect(ids.size).toBe(messages.length);
    expect(messages.every((each) => isSeq(each.where.seq) && each.record.seq === each.where.seq)).toBe(true);
  });

  it('has holes, and conversations across bucket boundaries', () => {
    const spans = conversations.map(({ messages: own }) => ({
      buckets: new Set(own.map((each) => bucketOf(each.where.seq))).size,
      isDense: (own.at(-1)?.where.seq ?? 0n) - (own[0]?.where.seq ?? 0n) === BigInt(own.length - 1),
    }));
    expect(spans.filter((span) => span.buckets > 1).length).toBeGreaterThan(10);
    expect(spans.filter((span) => !span.isDense).length).toBeGreaterThan(10);
  });

  it('S-1 the big backlog is 500 consecutive seqs across a boundary, the chats lie in one bucket each', () => {
    const big = batches[0]?.entries.map(({ entry }) => entry.seq) ?? [];
    expect((big.at(-1) ?? 0n) - (big[0] ?? 0n)).toBe(499n);
    expect(bucketOf(big[0] ?? 0n)).not.toBe(bucketOf(big.at(-1) ?? 0n));
    const groups = batches[1]?.entries.map(
      ({ entry }) => `${String(entry.conversationId)} ${bucketOf(entry.seq)}`,
    );
    expect(new Set(groups).size).toBe(20);
  });

  it('has edited, recalled, deleted and end-to-end encrypted messages, replies, mentions and reactions', () => {
    const count = (test: (message: (typeof messages)[number]) => boolean) => messages.filter(test).length;
    expect(count((each) => each.edit !== undefined)).toBeGreaterThan(30);
    expect(count((each) => each.recall !== undefined)).toBeGreaterThan(30);
    expect(count((each) => each.edit !== undefined && each.recall !== undefined)).toBeGreaterThan(0);
    expect(count((each) => each.record.state === 3)).toBeGreaterThan(5);
    expect(count((each) => each.record.messageType === 9)).toBeGreaterThan(100);
    expect(count((each) => each.record.replyToSeq !== undefined)).toBeGreaterThan(100);
    expect(count((each) => each.record.mentionTargets !== undefined)).toBeGreaterThan(50);
    expect(count((each) => each.summaries.length > 1)).toBeGreaterThan(100);
    expect(count((each) => each.expected.body?.reactions?.counts.size === 0)).toBeGreaterThan(0);
    expect(new Set(messages.map((each) => each.record.retentionClass)).size).toBe(4);
  });

  it('writes several scripts, right to left too, and emoji', () => {
    const text = messages
      .filter((each) => each.record.messageType === 1)
      .map((each) => Buffer.from(each.content.plaintext).toString('utf8'))
      .join('\n');
    for (const script of [
      'Latin',
      'Cyrillic',
      'Arabic',
      'Hebrew',
      'Han',
      'Hiragana',
      'Hangul',
      'Devanagari',
      'Thai',
    ]) {
      expect(text).toMatch(new RegExp(`\\p{Script=${script}}`, 'u'));
    }
    expect(text).toMatch(/\p{Extended_Pictographic}\u200d/u);
    expect(text).not.toContain('\ufffd');
  });

  it('R5.3 carries media that common.proto reads, thumbnails up to 32 KiB and no larger', () => {
    const path = fileURLToPath(new URL('../../proto/common.proto', import.meta.url));
    const type = protobuf.loadSync(path).lookupType('mailjoin.common.v1.MediaMetadata');
    const thumbnails = messages
      .map((each) => each.record.mediaMetadata)
      .filter((bytes) => bytes !== undefined)
      .map((bytes) => (type.toObject(type.decode(bytes)) as { thumbnail: Uint8Array }).thumbnail.length);
    expect(thumbnails.length).toBeGreaterThan(100);
    expect(Math.max(...thumbnails)).toBe(32 * 1024);
  });

  it('D8 D14 gives every write a TTL in range and timestamps that rise', () => {
    const lives = messages.map((each) => each.ttlSeconds).filter((ttl) => ttl !== undefined);
    expect(lives.every((ttl) => Number.isInteger(ttl) && ttl > 3600 && ttl <= TTL_SECONDS_MAX)).toBe(true);
    const falling = messages.filter(({ record, edit, recall }) => {
      const times = [record.createdAtMs * 1000n, edit?.timestampMicros, recall?.timestampMicros];
      const written = times.filter((time) => time !== undefined);
      return written.some((time, i) => i > 0 && time <= (written[i - 1] ?? 0n));
    });
    expect(falling).toEqual([]);
  });

  it('names every key that it seals with, versions ascending', () => {
    const known = new Set(dataset.dekIds.map(dekKey));
    for (const { content, edit } of messages) {
      for (const dekId of [content.dekId, edit?.content.dekId]) {
        if (dekId !== undefined) expect(known.has(dekKey(dekId))).toBe(true);
      }
    }
    expect(dataset.dekIds.some((dekId) => dekId.version === 2)).toBe(true);
    const seen = new Map<string, number>();
    for (const { id, version } of dataset.dekIds) {
      expect(version).toBe((seen.get(id) ?? 0) + 1);
      seen.set(id, version);
    }
    expect(dataset.dekIdsToDestroy.length).toBeGreaterThan(0);
  });

  it('asks in the batches only for the results that the messages promise', () => {
    const byId = new Map(messages.map((each) => [String(each.record.messageId), each]));
    for (const batch of batches.filter((each) => each !== batches[2])) {
      for (const { entry, expected } of batch.entries) {
        expect(expected).toBe(byId.get(String(entry.messageId))?.expected);
        expect(String(byId.get(String(entry.messageId))?.where.tenantId)).toBe(String(batch.tenantId));
      }
    }
  });

  it('live batches come back to the same hot messages', () => {
    const asked = batches
      .slice(3)
      .flatMap((batch) => batch.entries.map(({ entry }) => String(entry.messageId)));
    expect(new Set(asked).size).toBeLessThan(asked.length * 0.8);
  });
});
