import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openItems } from '../../src/crypto/open-items.js';
import { aadOf, type PayloadSuite, sealPayload } from '../../src/crypto/payload.js';
import { sealPreview } from '../../src/crypto/preview.js';
import { Suite } from '../../src/domain/envelope.js';
import type { ConversationId, TenantId } from '../../src/domain/ids.js';
import { OPEN_ITEM_BYTES, OPEN_ITEM_TAG_AT, OpenOutcome } from '../../src/domain/open-job.js';
import { buildOpenJob, type ItemToOpen } from './open-job-fixture.js';

const tenantId = randomBytes(16) as Uint8Array as TenantId;
const conversationId = randomBytes(16) as Uint8Array as ConversationId;
const dekId = { scope: 't', id: 'c', version: 1 };

function sealed(
  plaintext: Uint8Array,
  at: number,
  dek: Uint8Array,
  suite: PayloadSuite = Suite.XCHACHA20_POLY1305,
  bufferIndex = 0,
  keyIndex = 0,
): ItemToOpen {
  const place = { tenantId, conversationId, seq: BigInt(at), dek, dekId };
  return {
    envelope: sealPayload({ ...place, suite, plaintext }),
    aad: aadOf(place),
    at,
    bufferIndex,
    keyIndex,
  };
}

function regionOf(bytes: number, offset = 0): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(bytes + offset), offset, bytes);
}

describe('openItems: what does not authenticate', () => {
  it('stays ciphertext, is TAMPERED, and does not spoil its neighbours', () => {
    const dek = randomBytes(32);
    const region = regionOf(1000);
    const texts = ['first', 'second', 'third'].map((text) => Buffer.from(text));
    const job = buildOpenJob(
      texts.map((text, i) => sealed(text, 100 * i + 1, dek)),
      [dek],
      region,
    );
    const tagAt = OPEN_ITEM_BYTES + OPEN_ITEM_TAG_AT;
    job.items[tagAt] = (job.items[tagAt] as number) ^ 1;
    const ciphertext = region.slice(101, 107);
    expect([...openItems(job, region)]).toEqual([
      OpenOutcome.OPENED,
      OpenOutcome.TAMPERED,
      OpenOutcome.OPENED,
    ]);
    expect(region.slice(101, 107)).toEqual(ciphertext);
    expect(Buffer.from(region.slice(1, 6)).toString()).toBe('first');
    expect(Buffer.from(region.slice(201, 206)).toString()).toBe('third');
  });

  it('B42: a key of another tenant opens nothing', () => {
    const dek = randomBytes(32);
    const region = regionOf(100);
    const job = buildOpenJob([sealed(Buffer.from('mine'), 0, dek)], [randomBytes(32)], region);
    expect([...openItems(job, region)]).toEqual([OpenOutcome.TAMPERED]);
  });

  it('D23: an unknown suite and a preview are TAMPERED', () => {
    const dek = randomBytes(32);
    const region = regionOf(200);
    const item = sealed(Buffer.from('preview'), 10, dek);
    const preview = sealPreview({
      tenantId,
      conversationId,
      seq: 10n,
      dek,
      dekId,
      plaintext: Buffer.from('preview'),
    });
    const unknown = Uint8Array.from(item.envelope);
    const job = buildOpenJob(
      [
        { ...item, envelope: preview.subarray(preview.length - item.envelope.length) },
        { ...item, envelope: unknown, at: 60 },
      ],
      [dek],
      region,
    );
    job.items[OPEN_ITEM_BYTES + 16] = 0x7f;
    expect([...openItems(job, region)]).toEqual([OpenOutcome.TAMPERED, OpenOutcome.TAMPERED]);
  });

  it('asserts on an item outside its buffer and on a key that the job does not have', () => {
    const dek = randomBytes(32);
    const job = buildOpenJob([sealed(Buffer.from('text'), 96, dek)], [dek], regionOf(100));
    expect(() => openItems(job, regionOf(99))).toThrow(/within its buffer/);
    expect(() => openItems({ ...job, keys: [] }, regionOf(100))).toThrow(/a key of its job/);
  });
});

describe('openItems', () => {
  it('opens both suites, several keys, region and private buffers, empty payloads', () => {
    const deks = [randomBytes(32), randomBytes(32)];
    const region = regionOf(4096);
    const privateBuffers = [new SharedArrayBuffer(700), new SharedArrayBuffer(0)];
    const texts = [randomBytes(600), randomBytes(41), Buffer.alloc(0), randomBytes(700)];
    const job = buildOpenJob(
      [
        sealed(texts[0] as Buffer, 7, deks[0] as Buffer, Suite.XCHACHA20_POLY1305, 0, 0),
        sealed(texts[1] as Buffer, 3001, deks[1] as Buffer, Suite.AES_256_GCM, 0, 1),
        sealed(texts[2] as Buffer, 0, deks[0] as Buffer, Suite.AES_256_GCM, 2, 0),
        sealed(texts[3] as Buffer, 0, deks[1] as Buffer, Suite.XCHACHA20_POLY1305, 1, 1),
      ],
      deks,
      region,
      privateBuffers,
    );
    expect([...openItems(job, region)]).toEqual([1, 1, 1, 1]);
    expect(texts[0]?.equals(region.subarray(7, 607))).toBe(true);
    expect(texts[1]?.equals(region.subarray(3001, 3042))).toBe(true);
    expect(texts[3]?.equals(new Uint8Array(privateBuffers[0] as SharedArrayBuffer))).toBe(true);
  });

  it('B32, B20: bodies of 10, 4095, 4096 and 8192 bytes for two tenants, at odd offsets: no canary is touched', () => {
    const deks = [randomBytes(32), randomBytes(32)];
    const region = regionOf(40_000, 1).fill(0xca);
    const items: ItemToOpen[] = [];
    const texts: { at: number; text: Buffer }[] = [];
    let at = 5;
    for (const length of [10, 4095, 4096, 8192]) {
      for (const keyIndex of [0, 1]) {
        const text = randomBytes(length);
        items.push(sealed(text, at, deks[keyIndex] as Buffer, Suite.XCHACHA20_POLY1305, 0, keyIndex));
        texts.push({ at, text });
        at += length + 3;
      }
    }
    const job = buildOpenJob(items, deks, region);
    expect([...openItems(job, region)]).toEqual(items.map(() => OpenOutcome.OPENED));
    const expected = new Uint8Array(region.length).fill(0xca);
    for (const { at: textAt, text } of texts) expected.set(text, textAt);
    expect(Buffer.from(region).equals(expected)).toBe(true);
  });

  it('leaves keys and items as they were, so that a job can be repeated', () => {
    const dek = randomBytes(32);
    const region = regionOf(100);
    const job = buildOpenJob([sealed(Buffer.from('again'), 9, dek)], [dek], region);
    const items = job.items.slice();
    expect([...openItems(job, region)]).toEqual([OpenOutcome.OPENED]);
    expect(job.items).toEqual(items);
    job.restore?.();
    expect([...openItems(job, region)]).toEqual([OpenOutcome.OPENED]);
    expect(Buffer.from(region.slice(9, 14)).toString()).toBe('again');
  });
});
