import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { aadOf, sealPayload } from '../../src/crypto/payload.js';
import type { ConversationId, TenantId } from '../../src/domain/ids.js';
import { OPEN_ITEM_TAG_AT, type OpenJob, OpenOutcome } from '../../src/domain/open-job.js';
import {
  OPEN_ATTEMPTS_MAX,
  WorkerOpener,
  type WorkerOpenerOptions,
} from '../../src/workers/worker-opener.js';
import { buildOpenJob, type ItemToOpen } from '../crypto/open-job-fixture.js';

const FAULTY_THREAD = fileURLToPath(new URL('./faulty-thread.mjs', import.meta.url));
const Fault = { NONE: 0, EXIT: 1, OUT_OF_MEMORY: 2, THROW: 3, AT_START: 4, EXIT_THEN_AT_START: 5 } as const;
const REGION_BYTES = 1024 * 1024;

const openers: WorkerOpener[] = [];
afterEach(async () => {
  await Promise.all(openers.splice(0).map((opener) => opener.close()));
});

/** A region whose last words steer faulty-thread.mjs. */
function regionWith(fault: number, deaths: number): SharedArrayBuffer {
  const region = new SharedArrayBuffer(REGION_BYTES);
  new Int32Array(region, REGION_BYTES - 16, 2).set([fault, deaths]);
  return region;
}

function attemptsOf(region: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(region, REGION_BYTES - 16, 4), 2);
}

function openerOn(region: SharedArrayBuffer, options: Partial<WorkerOpenerOptions> = {}): WorkerOpener {
  const opener = new WorkerOpener({
    region,
    threads: 1,
    inlineItemsMax: 0,
    workerFile: FAULTY_THREAD,
    ...options,
  });
  openers.push(opener);
  return opener;
}

interface Group {
  readonly job: OpenJob;
  /** True when every plaintext lies where its ciphertext was. */
  readonly isOpen: () => boolean;
}

/** `count` messages of `bytes` each, one after the other from `at` of the region, with 3 bytes between them. */
function groupIn(region: SharedArrayBuffer, count: number, bytes: number, at = 1): Group {
  const dek = randomBytes(32);
  const tenantId = randomBytes(16) as Uint8Array as TenantId;
  const conversationId = randomBytes(16) as Uint8Array as ConversationId;
  const texts = Array.from({ length: count }, () => randomBytes(bytes));
  const view = new Uint8Array(region);
  const items = texts.map((plaintext, index): ItemToOpen => {
    const place = {
      tenantId,
      conversationId,
      seq: BigInt(index),
      dek,
      dekId: { scope: 's', id: 'i', version: 1 },
    };
    const envelope = sealPayload({ ...place, plaintext });
    return { envelope, aad: aadOf(place), at: at + index * (bytes + 3), bufferIndex: 0, keyIndex: 0 };
  });
  return {
    job: buildOpenJob(items, [dek], view),
    isOpen: () =>
      texts.every((text, index) => {
        const textAt = at + index * (bytes + 3);
        return text.equals(view.subarray(textAt, textAt + bytes));
      }),
  };
}

const allOpened = (count: number): Uint8Array => new Uint8Array(count).fill(OpenOutcome.OPENED);

describe('WorkerOpener: workers that die', () => {
  for (const [name, fault] of [
    ['exits', Fault.EXIT],
    ['runs out of memory (B31)', Fault.OUT_OF_MEMORY],
    ['throws', Fault.THROW],
  ] as const) {
    it(`a worker that ${name} in mid-job costs a repeat, with the ciphertext restored`, async () => {
      const region = regionWith(fault, 1);
      const opener = openerOn(region, { workerHeapMib: 32 });
      const group = groupIn(region, 40, 600);
      expect(await opener.open(group.job)).toEqual(allOpened(40));
      expect(group.isOpen()).toBe(true);
      expect(attemptsOf(region)).toBe(2);
      expect(opener.stats().repeats).toBe(1);
    });
  }

  it('rejects after as many attempts as are allowed, and serves the next job', async () => {
    const region = regionWith(Fault.EXIT, OPEN_ATTEMPTS_MAX);
    const opener = openerOn(region);
    const group = groupIn(region, 20, 100);
    await expect(opener.open(group.job)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(attemptsOf(region)).toBe(OPEN_ATTEMPTS_MAX);
    group.job.restore?.();
    expect(await opener.open(group.job)).toEqual(allOpened(20));
    expect(opener.stats().bytesInFlight).toBe(0);
  });

  it('does not repeat a job that cannot be restored', async () => {
    const region = regionWith(Fault.EXIT, 1);
    const opener = openerOn(region);
    const { items, count, keys, privateBuffers, bytes } = groupIn(region, 20, 100).job;
    await expect(opener.open({ items, count, keys, privateBuffers, bytes })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
    expect(attemptsOf(region)).toBe(1);
  });

  it('costs the other jobs nothing: ten queued behind the one that dies are answered', async () => {
    const region = regionWith(Fault.EXIT, 1);
    const opener = openerOn(region);
    const groups = Array.from({ length: 11 }, (_, i) => groupIn(region, 30, 50, 1 + i * 2_000));
    for (const outcomes of await Promise.all(groups.map((group) => opener.open(group.job)))) {
      expect(outcomes).toEqual(allOpened(30));
    }
    expect(groups.every((group) => group.isOpen())).toBe(true);
    expect(opener.stats().repeats).toBe(1);
  });

  it('replaces the whole pool when its workers die while they start, after one died in mid-job', async () => {
    const region = regionWith(Fault.EXIT_THEN_AT_START, 1);
    const opener = openerOn(region);
    const group = groupIn(region, 40, 600);
    expect(await opener.open(group.job)).toEqual(allOpened(40));
    expect(group.isOpen()).toBe(true);
    expect(opener.stats().repeats).toBe(2);
    expect(attemptsOf(region)).toBe(2);
  });

  it('rejects, instead of waiting for ever, when no worker starts at all', async () => {
    const region = regionWith(Fault.AT_START, 1_000);
    const opener = openerOn(region, { threads: 2 });
    await expect(opener.open(groupIn(region, 20, 100).job)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(attemptsOf(region)).toBe(0);
  });
});

describe('WorkerOpener: closing', () => {
  it('refuses new jobs, and those that wait; those under way are answered', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = openerOn(region, { bytesInFlightMax: 2_000 });
    const first = groupIn(region, 20, 100);
    const second = groupIn(region, 20, 100, 5_000);
    const underWay = opener.open(first.job);
    const waiting = opener.open(second.job);
    const closed = opener.close();
    await expect(waiting).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await expect(opener.open(second.job)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(await underWay).toEqual(allOpened(20));
    expect(first.isOpen()).toBe(true);
    await closed;
    expect(opener.stats().threads).toBe(0);
  });
});

describe('WorkerOpener: opening', () => {
  it('runs the built entry (#open-worker) when no other is named', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = new WorkerOpener({ region, threads: 1, inlineItemsMax: 0 });
    openers.push(opener);
    const group = groupIn(region, 100, 600);
    expect(await opener.open(group.job)).toEqual(allOpened(100));
    expect(group.isOpen()).toBe(true);
  });

  it('answers small groups at once, and larger ones by a worker: in items, and in bytes', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = openerOn(region, { inlineItemsMax: 4, inlineBytesMax: 1_000 });
    expect(opener.open(groupIn(region, 4, 250).job)).toEqual(allOpened(4));
    expect(attemptsOf(region)).toBe(0);
    const moreItems = opener.open(groupIn(region, 5, 10).job);
    expect(moreItems).toBeInstanceOf(Promise);
    await moreItems;
    const moreBytes = opener.open(groupIn(region, 4, 251).job);
    expect(moreBytes).toBeInstanceOf(Promise);
    await moreBytes;
    expect(opener.stats()).toMatchObject({ inlineJobs: 1, workerJobs: 2, repeats: 0 });
  });

  it('reports one tampered item alone, and leaves its ciphertext', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = openerOn(region);
    const { job } = groupIn(region, 30, 41);
    job.items[OPEN_ITEM_TAG_AT] = (job.items[OPEN_ITEM_TAG_AT] as number) ^ 1;
    const ciphertext = new Uint8Array(region).slice(1, 42);
    const outcomes = await opener.open(job);
    expect([...outcomes]).toEqual([OpenOutcome.TAMPERED, ...allOpened(29)]);
    expect(new Uint8Array(region).slice(1, 42)).toEqual(ciphertext);
  });

  it('opens private buffers, of items that are a view on a larger buffer', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = openerOn(region);
    const dek = randomBytes(32);
    const tenantId = randomBytes(16) as Uint8Array as TenantId;
    const conversationId = randomBytes(16) as Uint8Array as ConversationId;
    const place = { tenantId, conversationId, seq: 1n, dek, dekId: { scope: 's', id: 'i', version: 1 } };
    const text = randomBytes(50_000);
    const own = new SharedArrayBuffer(text.length);
    const item = {
      envelope: sealPayload({ ...place, plaintext: text }),
      aad: aadOf(place),
      at: 0,
      keyIndex: 0,
    };
    const job = buildOpenJob([{ ...item, bufferIndex: 1 }], [dek], new Uint8Array(region), [own]);
    const pooled = new Uint8Array(8192);
    pooled.set(job.items, 40);
    const view = pooled.subarray(40, 40 + job.items.length);
    expect(await opener.open({ ...job, items: view })).toEqual(allOpened(1));
    expect(text.equals(new Uint8Array(own))).toBe(true);
  });

  it('leaves the keys of the job as they were', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = openerOn(region);
    const { job } = groupIn(region, 30, 41);
    const keys = job.keys.map((key) => Uint8Array.from(key));
    await opener.open(job);
    expect(job.keys.map((key) => Uint8Array.from(key))).toEqual(keys);
  });

  it('B31: a hundred payloads of 1 MiB through a worker of 64 MB never have more than 4 MiB in flight', async () => {
    const region = regionWith(Fault.NONE, 0);
    const opener = openerOn(region, { workerHeapMib: 64, bytesInFlightMax: 4 * 1024 * 1024 });
    const dek = randomBytes(32);
    const tenantId = randomBytes(16) as Uint8Array as TenantId;
    const conversationId = randomBytes(16) as Uint8Array as ConversationId;
    const text = randomBytes(1024 * 1024);
    const buffers = Array.from({ length: 100 }, () => new SharedArrayBuffer(text.length));
    let bytesHighest = 0;
    const answers = buffers.map(async (buffer, index) => {
      const place = {
        tenantId,
        conversationId,
        seq: BigInt(index),
        dek,
        dekId: { scope: 's', id: 'i', version: 1 },
      };
      const item = {
        envelope: sealPayload({ ...place, plaintext: text }),
        aad: aadOf(place),
        at: 0,
        keyIndex: 0,
      };
      const job = buildOpenJob([{ ...item, bufferIndex: 1 }], [dek], new Uint8Array(region), [buffer]);
      const outcomes = await opener.open(job);
      bytesHighest = Math.max(bytesHighest, opener.stats().bytesInFlight);
      return outcomes[0];
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set([OpenOutcome.OPENED]));
    expect(buffers.every((buffer) => text.equals(new Uint8Array(buffer)))).toBe(true);
    expect(bytesHighest).toBeGreaterThan(0);
    expect(bytesHighest).toBeLessThanOrEqual(4 * 1024 * 1024);
  });
});
