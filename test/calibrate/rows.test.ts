/** Where the rows come from, on the embedded store: written for the purpose, or found. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRows } from '../../src/calibrate/existing-rows.js';
import { SITE_ROWS_MIN } from '../../src/calibrate/read-points.js';
import { writeRows } from '../../src/calibrate/written-rows.js';
import { MailjoinError } from '../../src/domain/errors.js';
import type { BucketReader } from '../../src/domain/history-ports.js';
import { CALIBRATE_SITES_MAX } from '../../src/domain/limits.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { activity, conversation, fullRecord, inParallel, life, message, tenant } from '../stores/fixtures.js';

const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
const unstopped = new AbortController().signal;

let directory: string;
let store: Awaited<ReturnType<typeof openEmbedded>>;
beforeEach(async () => {
  directory = temporaryDirectory();
  store = await openEmbedded(path.join(directory, 'data'), clock);
});
afterEach(async () => {
  await store.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

/** A conversation with a head and rows at these seqs. */
async function conversationOf(seqs: readonly bigint[], latestSeq: bigint, payloadBytes = 100) {
  const [tenantId, conversationId] = [tenant(), conversation()];
  await inParallel(seqs, 64, (seq) => {
    const record = fullRecord(seq, {
      payload: Buffer.alloc(payloadBytes),
      mediaMetadata: undefined,
      mentionTargets: undefined,
    });
    return store.store.insertRecord({ tenantId, conversationId, seq }, record, life());
  });
  await store.writes.writeHead(tenantId, conversationId, {
    latestSeq,
    lastMessageId: message(),
    lastActivityId: activity(),
    lastSenderId: undefined,
    preview: undefined,
    updatedAtMs: 1n,
    fencingEpoch: 1n,
    headVersion: 1n,
  });
  return { tenantId, conversationId };
}

const places = () => ({ heads: store.writes, buckets: store.buckets });

const seqsFrom = (first: bigint, count: number): bigint[] =>
  Array.from({ length: count }, (_, at) => first + BigInt(at));

describe('rows that are written', () => {
  it('a store that fails ends it with its error, and no row follows', async () => {
    let inserts = 0;
    const writer = {
      insertRecord: async () => {
        if (++inserts >= 200) throw new MailjoinError('STORE_UNAVAILABLE');
      },
    };
    const writing = writeRows({ writer, clock, rowBytes: [10], signal: unstopped });
    await expect(writing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    // Each write under way is tried three times, and no other begins.
    expect(inserts).toBeLessThan(200 + 3 * 128);
  });

  it('what a store refuses is not tried again, and a store that is late now and then ends nothing', async () => {
    const refusing = {
      insertRecord: async () => {
        throw new MailjoinError('STORE_REFUSED');
      },
    };
    const refused = writeRows({ writer: refusing, clock, rowBytes: [10], signal: unstopped });
    await expect(refused).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    let inserts = 0;
    const late = {
      insertRecord: async () => {
        if (++inserts % 300 === 0) throw new MailjoinError('STORE_UNAVAILABLE');
      },
    };
    expect(await writeRows({ writer: late, clock, rowBytes: [10], signal: unstopped })).toHaveLength(1);
    expect(inserts).toBe(4_096 + Math.floor(inserts / 300));
  });

  it('a signal ends it with what is under way', async () => {
    const stop = new AbortController();
    let inserts = 0;
    const writer = {
      insertRecord: async () => {
        if (++inserts === 300) stop.abort();
      },
    };
    expect(await writeRows({ writer, clock, rowBytes: [10], signal: stop.signal })).toBeUndefined();
    expect(inserts).toBeLessThan(300 + 200);
  });

  it('R3.2: are a full bucket of each size, each row with a TTL of an hour, and nothing else', async () => {
    const told: number[] = [];
    const groups = await writeRows({
      writer: store.store,
      clock,
      rowBytes: [50, 20],
      signal: unstopped,
      onProgress: (written, rows) => told.push(written / rows),
    });
    expect(told.at(-1)).toBe(1);
    expect(groups?.map(({ rowBytes }) => rowBytes)).toEqual([50, 20]);
    for (const { rowBytes, sites } of groups ?? []) {
      const [{ tenantId, conversationId, bucket, seqs } = expect.fail('a group has a site')] = sites;
      const rows = await store.writes.readBucket(tenantId, conversationId, bucket);
      expect(rows.map(({ seq }) => seq)).toEqual(seqs);
      expect(rows).toHaveLength(4_096);
      for (const { payload, ttlSeconds = 0 } of rows) {
        expect(payload?.length).toBe(rowBytes);
        expect(ttlSeconds > 3_500 && ttlSeconds <= 3_600).toBe(true);
      }
      const [row = expect.fail('a bucket has rows')] = rows;
      expect(await store.writes.lookup(tenantId, row.messageId)).toBeUndefined();
      expect(await store.writes.readHead(tenantId, conversationId)).toBeUndefined();
    }
  });
});

describe('rows that are there', () => {
  it('a store without conversations, or with short ones, says how many rows it has', async () => {
    const finding = () => findRows({ ...places(), signal: unstopped });
    await expect(finding()).rejects.toMatchObject({ code: 'ROWS_TOO_FEW' });
    await conversationOf(seqsFrom(0n, SITE_ROWS_MIN - 1), 500n);
    await expect(finding()).rejects.toThrow(/of 1 buckets looked at the fullest has 399/);
  });

  it('a signal ends it', async () => {
    await conversationOf(seqsFrom(0n, SITE_ROWS_MIN), 500n);
    expect(await findRows({ ...places(), signal: AbortSignal.abort() })).toBeUndefined();
  });

  it('full buckets are found below the newest one, with the seqs that are there and the size of their rows', async () => {
    const seqs = seqsFrom(4_096n, 900).filter((seq) => seq % 3n !== 0n);
    const long = await conversationOf([...seqs, 8_192n], 8_192n, 300);
    const young = await conversationOf(seqsFrom(1n, SITE_ROWS_MIN), BigInt(SITE_ROWS_MIN), 100);
    await conversationOf(seqsFrom(1n, 10), 10n);
    const groups = await findRows({ ...places(), signal: unstopped });
    expect(groups).toEqual([
      {
        rowBytes: Math.round((seqs.length * 300 + SITE_ROWS_MIN * 100) / (seqs.length + SITE_ROWS_MIN)),
        sites: [
          { ...long, bucket: 1n, seqs },
          { ...young, bucket: 0n, seqs: seqsFrom(1n, SITE_ROWS_MIN) },
        ],
      },
    ]);
  });

  it('an expired past is not looked at: the bucket is not below what is available', async () => {
    const { tenantId, conversationId } = await conversationOf(seqsFrom(8_192n, SITE_ROWS_MIN), 8_700n);
    await store.writes.advanceEarliest(tenantId, conversationId, 8_192n);
    const [group] = (await findRows({ ...places(), signal: unstopped })) ?? [];
    expect(group?.sites.map(({ bucket }) => bucket)).toEqual([2n]);
  });

  it('no more buckets than it measures on are read', async () => {
    const counted = bucketsOf(SITE_ROWS_MIN, 100);
    const [group] = (await findRows({ heads: endlessHeads, buckets: counted, signal: unstopped })) ?? [];
    expect([group?.sites.length, counted.readOf.size]).toEqual([CALIBRATE_SITES_MAX, CALIBRATE_SITES_MAX]);
  });

  it('a bucket that the store cannot read is left out and told, and the others are measured on', async () => {
    const good = await conversationOf(seqsFrom(0n, SITE_ROWS_MIN), 500n);
    const bad = await Promise.all([1, 2].map(() => conversationOf(seqsFrom(0n, 3), 900n)));
    const told: unknown[] = [];
    const progress: (readonly [number, number])[] = [];
    const [group] =
      (await findRows({
        heads: store.writes,
        buckets: unreadable(bad),
        signal: unstopped,
        onProgress: (found, read) => progress.push([found, read]),
        onUnreadable: (buckets, { code }) => told.push([buckets, code]),
      })) ?? [];
    expect(group?.sites.map(({ conversationId }) => conversationId)).toEqual([good.conversationId]);
    expect(told).toEqual([[2, 'STORE_UNAVAILABLE']]);
    // Those with the most seqs first.
    expect(progress).toEqual([
      [0, 1],
      [0, 2],
      [1, 3],
    ]);
  });

  it('without a usable one the store’s error says more than that rows are too few', async () => {
    await conversationOf(seqsFrom(0n, SITE_ROWS_MIN - 1), 500n);
    const bad = [await conversationOf(seqsFrom(0n, SITE_ROWS_MIN), 900n)];
    const finding = findRows({ heads: store.writes, buckets: unreadable(bad), signal: unstopped });
    await expect(finding).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('a bucket of rows that are large is read in small pieces, and no further than its bound of bytes', async () => {
    const large = bucketsOf(4_096, MIB);
    const finding = findRows({ heads: oneHead, buckets: large, signal: unstopped });
    await expect(finding).rejects.toMatchObject({
      code: 'ROWS_TOO_FEW',
      message: expect.stringContaining('of 1 buckets looked at the fullest has 64'),
    });
    expect(large.limits.slice(0, 3)).toEqual([16, 4, 4]);
  });

  it('one of rows that are small is read in few pieces, and measured on as far as it was read', async () => {
    const small = bucketsOf(4_096, 100);
    const [whole] = (await findRows({ heads: oneHead, buckets: small, signal: unstopped })) ?? [];
    expect(whole).toMatchObject({ rowBytes: 100, sites: [{ seqs: seqsFrom(0n, 4_096) }] });
    expect(small.limits).toEqual([16, ...Array<number>(8).fill(512)]);
    const middling = bucketsOf(4_096, MIB / 8);
    const [cut] = (await findRows({ heads: oneHead, buckets: middling, signal: unstopped })) ?? [];
    expect(cut?.sites.map(({ seqs }) => seqs)).toEqual([seqsFrom(0n, 16 + 16 * 32)]);
  });
});

const MIB = 1024 * 1024;
// Only what a search reads of heads and of rows.
type Heads = Parameters<typeof findRows>[0]['heads'];
const headsOf = (count: number, next: string | undefined) =>
  ({
    listHeads: async () => ({
      heads: Array.from({ length: count }, () => ({
        tenantId: tenant(),
        conversationId: conversation(),
        head: { latestSeq: 500n, earliestAvailableSeq: 0n },
      })),
      next,
    }),
  }) as unknown as Heads;
const endlessHeads = headsOf(200, 'on');
const oneHead = headsOf(1, undefined);

/** Every bucket is full of `rows` rows of as many bytes each. */
function bucketsOf(rows: number, rowBytes: number) {
  const limits: number[] = [];
  const readOf = new Set<unknown>();
  const reader: BucketReader = {
    readBucketRows: async ({ conversationId, from, limit, bytesMax }) => {
      limits.push(limit);
      readOf.add(conversationId);
      const count = Math.min(limit, Math.ceil(bytesMax / rowBytes), rows - Number(from));
      const records = seqsFrom(from, count).map((seq) => fullRecord(seq));
      const next = Number(from) + count < rows ? from + BigInt(count) : undefined;
      const cost = {
        recordStatements: 1,
        summaryStatements: 0,
        furtherPages: 0,
        rows: count,
        bytes: count * rowBytes,
      };
      return { records, summaries: [], sentAtMs: 0, cost, next };
    },
  };
  return { ...reader, limits, readOf };
}

/** The store's own, but for these conversations. */
function unreadable(bad: readonly { readonly conversationId: Uint8Array }[]): BucketReader {
  return {
    readBucketRows: async (read) => {
      if (bad.some(({ conversationId }) => Buffer.compare(conversationId, read.conversationId) === 0)) {
        throw new MailjoinError('STORE_UNAVAILABLE');
      }
      return store.buckets.readBucketRows(read);
    },
  };
}
