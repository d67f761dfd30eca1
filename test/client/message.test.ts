/** One message in detail with who reacted, end to end: the client, the route, the embedded store (R4.5). */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { formatHex, formatUuid } from '../../src/domain/ids.js';
import { type Coordinates, MessageState } from '../../src/domain/message.js';
import { fullRecord, life, message, tenant, user } from '../stores/fixtures.js';
import { type SidecarUnderTest, startSidecarUnderTest } from './sidecar-under-test.js';

const TENANT = tenant();

describe('client.message with reactors', () => {
  let under: SidecarUnderTest;
  beforeAll(async () => {
    under = await startSidecarUnderTest();
  });
  afterAll(() => under.stop());

  /** A message of its own, with so many reactions and one that was taken back. */
  async function reacted(count: number, key = '+1') {
    const { conversationId, messages } = await under.write(TENANT, [7n]);
    const where: Coordinates = { tenantId: TENANT, conversationId, seq: 7n };
    const { writes } = under.sidecar.stores;
    const users = Array.from({ length: count }, () => user());
    for (const [index, userId] of users.entries()) {
      await writes.putReaction(where, { userId, reactionKey: key, createdAtMs: 5_000n + BigInt(index) });
    }
    await writes.putReaction(where, { userId: user(), reactionKey: '', createdAtMs: 5n });
    const [stored] = messages;
    if (stored === undefined) throw new Error('was written');
    return { where, users, ask: { ...where, messageId: stored.record.messageId } };
  }

  it('refuses what is no user, and no limit, before anything is sent', async () => {
    const { ask } = await reacted(0);
    const malformed = { code: 'REQUEST_MALFORMED' };
    await expect(under.client.message({ ...ask, reactors: { after: 'x' } })).rejects.toMatchObject(malformed);
    for (const limit of [0, 0.5, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      const asked = under.client.message({ ...ask, reactors: { limit } });
      await expect(asked, String(limit)).rejects.toThrow('reactors.limit must be a whole number from 1');
    }
  });

  it('tells nothing of reactors when nobody asks, and nobody when nobody reacted', async () => {
    const { ask } = await reacted(2);
    expect(await under.client.message(ask)).toMatchObject({ reactors: [], nextReactorsAfter: undefined });
    const { ask: lonely } = await reacted(0);
    expect(await under.client.message({ ...lonely, reactors: {} })).toMatchObject({
      result: 'OK',
      reactors: [],
      nextReactorsAfter: undefined,
    });
  });

  it('R4.5 answers by the deadline, whatever a read of reactions does: STORE_UNAVAILABLE, no time-out of the client', async () => {
    const { ask, users } = await reacted(1);
    const { writes } = under.sidecar.stores;
    const read = vi.spyOn(writes, 'readReaction').mockReturnValue(new Promise(() => undefined));
    onTestFinished(() => read.mockRestore());
    // The body from the cache, so that it is there by any deadline.
    await under.client.message(ask);
    const late = under.client.message({ ...ask, userId: users[0], deadlineMs: 300 });
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await under.client.message(ask)).toMatchObject({ result: 'OK' });
  });

  it('R4.5 tells them page by page, each once, with when they did', async () => {
    const { ask, users } = await reacted(55);
    const first = await under.client.message({ ...ask, reactors: {} });
    expect(first.reactors).toHaveLength(50);
    const after = first.nextReactorsAfter;
    expect(after).toBeDefined();
    const second = await under.client.message({
      ...ask,
      userId: users[3],
      reactors: { after: formatUuid(after as Uint8Array), limit: 5 },
    });
    expect(second).toMatchObject({ selfReactionKeys: ['+1'], nextReactorsAfter: undefined });
    const all = [...first.reactors, ...second.reactors];
    const expected = users.map((userId, index) => [formatHex(userId), '+1', 5_000n + BigInt(index)]);
    const told = all.map(({ userId, reactionKey, createdAtMs }) => [
      formatHex(userId),
      reactionKey,
      createdAtMs,
    ]);
    const byUser = (a: unknown[], b: unknown[]) => String(a[0]).localeCompare(String(b[0]));
    expect(told.sort(byUser)).toEqual(expected.sort(byUser));
  });

  it('B46 tells those of one key, in whatever form it is asked for', async () => {
    const { ask, where, users } = await reacted(3, '\u2764');
    const reaction = { userId: user(), reactionKey: '+1', createdAtMs: 1n };
    await under.sidecar.stores.writes.putReaction(where, reaction);
    for (const reactionKey of ['\u2764', '\u2764\uFE0F']) {
      const { reactors } = await under.client.message({ ...ask, reactors: { reactionKey } });
      expect(reactors.map(({ userId }) => formatHex(userId)).sort()).toEqual(users.map(formatHex).sort());
    }
    const { reactors } = await under.client.message({ ...ask, reactors: { reactionKey: 'other' } });
    expect(reactors).toEqual([]);
  });

  it('D12 of a message that is not shown nobody learns who reacted; of a recalled one they do', async () => {
    const { ask, where, users } = await reacted(2);
    const asked = { userId: users[0], reactors: {} };
    const nothing = { selfReactionKeys: [], reactors: [], nextReactorsAfter: undefined };
    const mismatch = await under.client.message({ ...ask, ...asked, messageId: message() });
    expect(mismatch).toMatchObject({ result: 'MISMATCH', ...nothing });
    const put = async (seq: bigint, state: number) => {
      const record = fullRecord(seq, { state, dekId: undefined });
      const place = { ...where, seq };
      await under.sidecar.stores.messages.insertRecord(place, record, life());
      for (const userId of users) {
        await under.sidecar.stores.writes.putReaction(place, { userId, reactionKey: 'a', createdAtMs: 5n });
      }
      return under.client.message({ ...place, ...asked, messageId: record.messageId });
    };
    expect(await put(8n, MessageState.DELETED)).toMatchObject({ result: 'NOT_FOUND', ...nothing });
    const recalled = await put(9n, MessageState.RECALLED);
    expect(recalled).toMatchObject({ result: 'RECALLED', selfReactionKeys: ['a'] });
    expect(recalled.reactors).toHaveLength(2);
  });
});
