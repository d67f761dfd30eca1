/** History pages end to end: the client, the route in its three media types, the embedded store. */
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMessageBody } from '../../src/client/index.js';
import { formatHex, formatUuid } from '../../src/domain/ids.js';
import { type MessageRecord, MessageState } from '../../src/domain/message.js';
import { fullRecord, life, message, tenant, user } from '../stores/fixtures.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  startSidecarUnderTest,
} from './sidecar-under-test.js';

const TENANT = tenant();

describe('client.history', () => {
  let under: SidecarUnderTest;
  let written: StoredConversation;

  beforeAll(async () => {
    under = await startSidecarUnderTest();
    written = await under.write(
      TENANT,
      Array.from({ length: 10 }, (_, index) => 4_091n + BigInt(index)),
    );
  });

  afterAll(() => under.stop());

  it('refuses an anchor with bit 63 set, and a conversation that is none, before anything is sent', async () => {
    const { conversationId } = written;
    await expect(
      under.client.history({ tenantId: TENANT, conversationId, anchor: 2n ** 63n }),
    ).rejects.toMatchObject({ code: 'SEQ_RANGE' });
    await expect(under.client.history({ tenantId: TENANT, conversationId: 'none' })).rejects.toMatchObject({
      code: 'REQUEST_MALFORMED',
    });
  });

  it('refuses a direction that is none, also from JavaScript, instead of turning the page the other way', async () => {
    const { conversationId } = written;
    for (const direction of ['NEWER', 'OLDER', 'down', '', 1, null]) {
      const request = { tenantId: TENANT, conversationId, direction: direction as 'newer' };
      await expect(under.client.history(request), String(direction)).rejects.toThrow(
        new TypeError("direction must be 'older' or 'newer'"),
      );
    }
  });

  it('refuses a limit that is no whole number from 1, and takes any that is', async () => {
    const { conversationId } = written;
    for (const limit of [0, 0.5, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      const asked = under.client.history({ tenantId: TENANT, conversationId, limit });
      await expect(asked, String(limit)).rejects.toThrow('limit must be a whole number from 1');
    }
    const all = under.client.history({ tenantId: TENANT, conversationId, limit: Number.MAX_SAFE_INTEGER });
    expect((await all).entries).toHaveLength(10);
  });

  it('takes bytes of bodies beyond all bounds as the most that there are', async () => {
    const { conversationId } = written;
    const page = await under.client.history({ tenantId: TENANT, conversationId, responseBytesMax: 2 ** 64 });
    expect(page.entries.map(({ result }) => result)).toEqual(Array(10).fill('OK'));
  });

  it('answers the newest page, opened, and the next one by its anchor', async () => {
    const { conversationId, messages } = written;
    const newest = await under.client.history({
      tenantId: TENANT,
      conversationId,
      limit: 7,
      wantReceipt: true,
    });
    expect(newest.entries.map(({ seq }) => seq)).toEqual([4100n, 4099n, 4098n, 4097n, 4096n, 4095n, 4094n]);
    expect(newest).toMatchObject({ hasMore: true, nextAnchor: 4094n, stop: 'LIMIT' });
    expect(newest.receipt?.rangeStatements).toBeGreaterThan(0);
    for (const { seq, messageId, result, body } of newest.entries) {
      expect(result).toBe('OK');
      const stored = messages.find(({ record }) => record.seq === seq);
      const decoded = decodeMessageBody(body as Uint8Array);
      expect(formatHex(decoded.messageId)).toBe(formatHex(messageId));
      expect(Buffer.from(decoded.payload as Uint8Array)).toEqual(stored?.payload);
    }
    const anchor = newest.nextAnchor as bigint;
    const next = await under.client.history({ tenantId: TENANT, conversationId, limit: 7, anchor });
    expect(next.entries.map(({ seq }) => seq)).toEqual([4093n, 4092n, 4091n]);
    expect(next).toMatchObject({ hasMore: false, nextAnchor: undefined, stop: 'END', hole: undefined });
  });

  it('shows a recalled message without its content and a deleted one not at all (D12)', async () => {
    const { conversationId } = await under.write(TENANT, [1n, 2n]);
    const put = (seq: bigint, state: number) =>
      under.sidecar.stores.messages.insertRecord(
        { tenantId: TENANT, conversationId, seq },
        fullRecord(seq, { state, dekId: undefined }),
        life(),
      );
    await put(3n, MessageState.RECALLED);
    await put(4n, MessageState.DELETED);
    const { entries } = await under.client.history({ tenantId: TENANT, conversationId });
    expect(entries.map(({ seq, result }) => [seq, result])).toEqual([
      [3n, 'RECALLED'],
      [2n, 'OK'],
      [1n, 'OK'],
    ]);
    expect(decodeMessageBody(entries[0]?.body as Uint8Array).payload).toBeUndefined();
  });

  it('R4.5 one message in detail tells what the asking user reacted with, and nobody else’s', async () => {
    const { conversationId, messages } = written;
    const record = messages[0]?.record as MessageRecord;
    const [mine, gone] = [user(), user()];
    const where = { tenantId: TENANT, conversationId, seq: record.seq };
    const { writes } = under.sidecar.stores;
    await writes.putReaction(where, { userId: mine, reactionKey: '+1', createdAtMs: 5n });
    await writes.putReaction(where, { userId: gone, reactionKey: '', createdAtMs: 5n });
    const ask = { ...where, messageId: record.messageId };
    const detail = await under.client.message({ ...ask, userId: mine });
    expect(detail).toMatchObject({ result: 'OK', selfReactionKeys: ['+1'] });
    expect(formatHex(decodeMessageBody(detail.body as Uint8Array).messageId)).toBe(
      formatHex(record.messageId),
    );
    expect((await under.client.message({ ...ask, userId: gone })).selfReactionKeys).toEqual([]);
    expect((await under.client.message(ask)).selfReactionKeys).toEqual([]);
    const other = await under.client.message({ ...ask, messageId: message(), userId: mine });
    expect(other).toEqual({ result: 'MISMATCH', selfReactionKeys: [], reactors: [] });
    await expect(under.client.message({ ...ask, seq: 2n ** 63n })).rejects.toMatchObject({
      code: 'SEQ_RANGE',
    });
  });

  it('answers a page in JSON to people', async () => {
    const { conversationId, messages } = written;
    const page = await postJson(under.socketPath, {
      tenant_id: formatUuid(TENANT),
      conversation_id: formatUuid(conversationId),
      direction: 'NEWER',
      anchor: '4098',
      limit: 1,
    });
    expect(page).toMatchObject({ has_more: true, next_anchor: '4099', stop: 'LIMIT' });
    expect(page.entries).toEqual([
      {
        conversation_seq: '4099',
        message_id: formatHex(
          messages.find(({ record }) => record.seq === 4099n)?.record.messageId as Uint8Array,
        ),
        result: 'OK',
        body: 1,
      },
    ]);
    expect(page.bodies).toMatchObject([{ conversation_seq: '4099' }]);
  });
});

function postJson(socketPath: string, body: unknown): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const request = http.request({ socketPath, path: '/v1/history', method: 'POST', headers }, (response) => {
      json(response).then((value) => resolve(value as Record<string, unknown>), reject);
    });
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}
