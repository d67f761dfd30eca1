import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { differenceOf } from '../../src/cli/demo-check.js';
import { DEMO_SEED_DEFAULT, type DemoDataset, demoDataset } from '../../src/cli/demo-data.js';
import { type DemoSealing, type FillCounts, fillStore } from '../../src/cli/demo-fill.js';
import type { DemoMessage } from '../../src/cli/demo-message.js';
import { systemClock } from '../../src/cli/system-clock.js';
import { blockABytes, blockBBytes, writeBlockA, writeBlockB } from '../../src/codec/body.js';
import { openPayload, sealPayload } from '../../src/crypto/payload.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { type DekId, dekKey, effectiveState, MessageState } from '../../src/domain/message.js';
import type { MessageStore } from '../../src/domain/ports.js';
import { bucketOf } from '../../src/domain/seq.js';
import { type OpenedEmbedded, openEmbedded } from '../../src/embedded/open-embedded.js';

const keyOf = (dekId: DekId) => createHash('sha256').update(dekKey(dekId)).digest();
const seal = (sealing: DemoSealing) => sealPayload({ ...sealing, dek: keyOf(sealing.dekId) });

describe('fillStore', () => {
  let dataset: DemoDataset;
  let opened: OpenedEmbedded;
  let directory: string;
  let counts: FillCounts;
  const progress: number[] = [];
  beforeAll(async () => {
    dataset = demoDataset(DEMO_SEED_DEFAULT, systemClock.epochMs());
    directory = mkdtempSync(join(tmpdir(), 'mailjoin-demo-'));
    opened = await openEmbedded(directory, systemClock);
    counts = await fillStore(opened.store, dataset, {
      seal,
      onProgress: (written) => progress.push(written),
    });
  });
  afterAll(async () => {
    await opened.close();
    rmSync(directory, { recursive: true });
  });

  it('ends with the error of a write that fails, and begins no further writes', async () => {
    let asked = 0;
    const failing: MessageStore = {
      ...({} as MessageStore), // only insertRecord is reached
      insertRecord: async () => {
        asked++;
        throw new MailjoinError('STORE_UNAVAILABLE');
      },
    };
    await expect(fillStore(failing, dataset, { seal, concurrency: 4 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect(asked).toBeLessThanOrEqual(4);
  });

  it('keeps to the concurrency that it was given', async () => {
    let running = 0;
    let most = 0;
    const busy = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    };
    const slow: MessageStore = {
      ...({} as MessageStore), // the four writes are all that is reached
      insertRecord: busy,
      editRecord: busy,
      recallRecord: busy,
      putSummary: busy,
    };
    await fillStore(slow, { ...dataset, messages: dataset.messages.slice(0, 300) }, { seal, concurrency: 7 });
    expect(most).toBe(7);
  });

  it('tells its progress and what it wrote', () => {
    expect(progress).toEqual(Array.from({ length: dataset.messages.length }, (_, i) => i + 1));
    expect(counts.messages).toBe(dataset.messages.length);
    const plainBytes = dataset.messages.reduce(
      (sum, each) => sum + each.content.plaintext.length + (each.record.mediaMetadata?.length ?? 0),
      0,
    );
    expect(counts.bytes).toBeGreaterThan(plainBytes);
    expect(counts.bytes).toBeLessThan(plainBytes + dataset.messages.length * 200);
    expect(counts.edits).toBe(dataset.messages.filter((each) => each.edit).length);
    expect(counts.recalls).toBe(dataset.messages.filter((each) => each.recall).length);
  });

  it('stores what the messages promise: every expected body is what its row encodes to', async () => {
    let compared = 0;
    const differences: string[] = [];
    for (const message of dataset.messages) {
      const outcome = await outcomeOf(opened.store, message);
      // Keys are not destroyed in this test: an erased chat reads like any other.
      if (message.expected.result === 'ERASED') continue;
      const difference = differenceOf(message.expected, outcome);
      if (difference !== undefined) differences.push(`${message.where.seq}: ${difference}`);
      compared++;
    }
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(3000);
  });

  it('a check that is given another message finds a difference', async () => {
    const [a, b] = dataset.messages.filter((each) => each.expected.result === 'OK') as [
      DemoMessage,
      DemoMessage,
    ];
    expect(differenceOf(b.expected, await outcomeOf(opened.store, a))).toBe('messageId differs');
  });
});

/** What a join would answer, the slow and obvious way: one row, opened and encoded. */
async function outcomeOf(store: MessageStore, { where, record: { messageId } }: DemoMessage) {
  const rows = await store.readGroup({
    ...where,
    bucket: bucketOf(where.seq),
    statements: [{ shape: 'in', seqs: [where.seq] }],
  });
  const record = rows.records[0];
  const failed = (result: 'NOT_FOUND' | 'TAMPERED') => ({
    result,
    invalidReason: undefined,
    body: undefined,
  });
  if (record === undefined || effectiveState(record) === MessageState.DELETED) return failed('NOT_FOUND');
  if (Buffer.compare(record.messageId, messageId) !== 0) throw new Error('another message lies there');
  const isRecalled = effectiveState(record) === MessageState.RECALLED;
  const { dekId, payload } = record;
  if (dekId === undefined || payload === undefined) return failed('TAMPERED');
  const plaintext = openPayload({ ...where, dekId, dek: keyOf(dekId), envelope: payload });
  if (plaintext === undefined) return failed('TAMPERED');
  const payloadBytes = isRecalled ? -1 : plaintext.length;
  const summary = rows.summaries[0];
  const blockA = blockABytes(record, !isRecalled, payloadBytes);
  const body = new Uint8Array(blockA + blockBBytes(summary));
  const payloadAt = writeBlockA(body, 0, where.conversationId, record, !isRecalled, payloadBytes);
  if (!isRecalled) body.set(plaintext, payloadAt);
  writeBlockB(body, blockA, summary);
  return { result: isRecalled ? ('RECALLED' as const) : ('OK' as const), invalidReason: undefined, body };
}
