/** conversation_head: whatever the order and the clocks, the newest write of the newest owner stands (R5.2, D2). */
import { describe, expect, it } from 'vitest';
import { isClaimed, isSuperseded } from '../../src/domain/head.js';
import type { ConversationHead, HeadWrite, WriteStore } from '../../src/domain/write-ports.js';
import { activity, CREATED_AT_MS, message, tenant } from './fixtures.js';
import {
  headWrite,
  type Opened,
  type Place,
  place,
  plainValue,
  SEQ_REFUSED,
  SEQS_ACCEPTED,
  SEQS_REFUSED,
} from './write-contract.js';

const put = (store: WriteStore, where: Place, write: HeadWrite) =>
  store.writeHead(where.tenantId, where.conversationId, write);
const read = (store: WriteStore, where: Place) => store.readHead(where.tenantId, where.conversationId);
const advance = (store: WriteStore, where: Place, seq: bigint) =>
  store.advanceEarliest(where.tenantId, where.conversationId, seq);

function headOf(write: HeadWrite, over: Partial<ConversationHead> = {}): ConversationHead {
  return { ...write, earliestAvailableSeq: undefined, memberCount: undefined, ...over };
}

/** Heads 10..13 as their owner makes them: the version rises by one, in seq order. */
const inSeqOrder = (seq: bigint): HeadWrite =>
  headWrite({ latestSeq: seq, headVersion: seq - 9n, updatedAtMs: CREATED_AT_MS + seq });

export function headContract(opened: Opened): void {
  describe('conversation_head', () => {
    it.each(SEQS_REFUSED)('S-2 R1.1 seq %s is refused before anything is sent', async (seq) => {
      const { writes } = opened();
      const where = place();
      await expect(put(writes, where, headWrite({ latestSeq: seq }))).rejects.toMatchObject(SEQ_REFUSED);
      await expect(advance(writes, where, seq)).rejects.toMatchObject(SEQ_REFUSED);
      expect(await read(writes, where)).toBeUndefined();
    });

    it.each([
      { fencingEpoch: 2n ** 23n, headVersion: 1n },
      { fencingEpoch: -1n, headVersion: 1n },
      { fencingEpoch: 1n, headVersion: 0n },
      { fencingEpoch: 1n, headVersion: 2n ** 40n },
    ])('D2 a fence that does not fit its bits ends the operation: %o', async (fence) => {
      const { writes } = opened();
      const where = place();
      await expect(put(writes, where, headWrite(fence))).rejects.toThrow('D2');
      expect(await read(writes, where)).toBeUndefined();
    });

    it.each(SEQS_ACCEPTED)('S-2 seq %s comes back exact, as H and as E', async (seq) => {
      const { writes } = opened();
      const where = place();
      const write = headWrite({ latestSeq: seq });
      await put(writes, where, write);
      await advance(writes, where, seq);
      expect(plainValue(await read(writes, where))).toEqual(
        plainValue(headOf(write, { earliestAvailableSeq: seq })),
      );
    });

    it('B49 heads 12, 11, 13, 10 end at 13, whole', async () => {
      const { writes } = opened();
      const where = place();
      const heads = new Map([10n, 11n, 12n, 13n].map((seq) => [seq, inSeqOrder(seq)]));
      for (const seq of [12n, 11n, 13n, 10n]) await put(writes, where, heads.get(seq) as HeadWrite);
      expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(heads.get(13n) as HeadWrite)));
    });

    it('B49 heads 10 to 13 written at once by two clients end at 13, whole', async () => {
      const { writes, second } = opened();
      const where = place();
      const heads = [12n, 11n, 13n, 10n].map(inSeqOrder);
      await Promise.all(heads.map((head, at) => put(at % 2 === 0 ? writes : second, where, head)));
      expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(heads[2] as HeadWrite)));
    });

    it('B49 an owner whose clock is 5 s behind wins by its version, one whose clock is ahead loses by it', async () => {
      const { writes } = opened();
      const where = place();
      const ahead = headWrite({ latestSeq: 12n, headVersion: 3n, updatedAtMs: CREATED_AT_MS + 5_000n });
      const behind = headWrite({ latestSeq: 13n, headVersion: 4n, updatedAtMs: CREATED_AT_MS - 5_000n });
      await put(writes, where, ahead);
      await put(writes, where, behind);
      expect((await read(writes, where))?.latestSeq).toBe(13n);
      await put(writes, where, ahead);
      expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(behind)));
    });

    it("B49 D2 an old epoch's 99 changes nothing, and its owner learns that it was superseded", async () => {
      const { writes, second } = opened();
      const where = place();
      const mine = headWrite({ latestSeq: 13n, fencingEpoch: 8n, headVersion: 1n });
      const old = headWrite({ latestSeq: 99n, fencingEpoch: 7n, headVersion: 2n ** 40n - 1n });
      await put(writes, where, mine);
      await put(second, where, old);
      const head = await read(second, where);
      expect(plainValue(head)).toEqual(plainValue(headOf(mine)));
      expect(isSuperseded(head, old)).toBe(true);
      expect(isSuperseded(head, mine)).toBe(false);
    });

    it('B49 the highest epoch and version there are can be written and beat all others', async () => {
      const { writes } = opened();
      const where = place();
      const last = headWrite({ fencingEpoch: 2n ** 23n - 1n, headVersion: 2n ** 40n - 1n, latestSeq: 2n });
      await put(writes, where, last);
      await put(writes, where, headWrite({ fencingEpoch: 2n ** 23n - 1n, headVersion: 1n, latestSeq: 3n }));
      expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(last)));
    });

    it('D2 a repeated write changes nothing; at equal fences the greater bytes stay, column by column', async () => {
      const { writes } = opened();
      const [low, high] = [Buffer.alloc(16, 0x10), Buffer.alloc(16, 0xf0)];
      const a = headWrite({ latestSeq: 20n, lastMessageId: message(low), lastActivityId: activity(high) });
      const b = { ...a, latestSeq: 21n, lastMessageId: message(high), lastActivityId: activity(low) };
      for (const order of [
        [a, b, a],
        [b, a, a],
      ]) {
        const where = place();
        for (const write of order) await put(writes, where, write);
        const mixed = { ...b, lastActivityId: activity(high) };
        expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(mixed)));
      }
    });

    it("D18 a head without sender or preview does not keep its predecessor's", async () => {
      const { writes } = opened();
      const where = place();
      await put(writes, where, headWrite({ headVersion: 1n }));
      const bare = headWrite({ headVersion: 2n, lastSenderId: undefined, preview: undefined });
      await put(writes, where, bare);
      expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(bare)));
    });

    it('D2 a claim shows its epoch at version 0 and the content of before, which earlier epochs still write', async () => {
      const { writes, second } = opened();
      const where = place();
      const write = headWrite({ fencingEpoch: 4n, headVersion: 4n, latestSeq: 9n });
      const claim = { fencingEpoch: 6n, headVersion: 0n };
      await put(writes, where, write);
      await second.claimHead(where.tenantId, where.conversationId, 6n);
      const claimed = await read(writes, where);
      expect(plainValue(claimed)).toEqual(plainValue({ ...headOf(write), ...claim }));
      expect([isClaimed(claimed), isSuperseded(claimed, write)]).toEqual([true, true]);
      const late = headWrite({ fencingEpoch: 4n, headVersion: 5n, latestSeq: 10n });
      await put(writes, where, late);
      await writes.claimHead(where.tenantId, where.conversationId, 5n);
      expect(plainValue(await read(writes, where))).toEqual(plainValue({ ...headOf(late), ...claim }));
      const first = headWrite({ fencingEpoch: 6n, headVersion: 1n, latestSeq: 11n });
      await put(second, where, first);
      await second.claimHead(where.tenantId, where.conversationId, 6n);
      expect(plainValue(await read(writes, where))).toEqual(plainValue(headOf(first)));
    });

    it('D2 a claim of a conversation that has no head yet enters no message', async () => {
      const { writes } = opened();
      const where = place();
      await writes.claimHead(where.tenantId, where.conversationId, 1n);
      const head = await read(writes, where);
      expect(head).toMatchObject({ fencingEpoch: 1n, headVersion: 0n });
      expect([head?.latestSeq, head?.lastMessageId, head?.preview]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    });

    it.each([-1n, 2n ** 23n])('D2 a claim to epoch %s ends the operation', async (fencingEpoch) => {
      const { writes } = opened();
      const where = place();
      await expect(writes.claimHead(where.tenantId, where.conversationId, fencingEpoch)).rejects.toThrow(
        'D2',
      );
      expect(await read(writes, where)).toBeUndefined();
    });

    it('R3.5 E never moves back, and neither head nor E disturbs the other', async () => {
      const { writes, second } = opened();
      const where = place();
      const write = headWrite({ fencingEpoch: 3n, headVersion: 9n, latestSeq: 50n });
      await advance(writes, where, 40n);
      await advance(second, where, 30n);
      await put(writes, where, write);
      await advance(writes, where, 39n);
      expect(plainValue(await read(writes, where))).toEqual(
        plainValue(headOf(write, { earliestAvailableSeq: 40n })),
      );
      await advance(writes, where, 41n);
      await put(writes, where, { ...write, headVersion: 10n });
      expect((await read(writes, where))?.earliestAvailableSeq).toBe(41n);
    });

    it('R3.5 E of a conversation that has no head yet is kept for it', async () => {
      const { writes } = opened();
      const where = place();
      await advance(writes, where, 7n);
      const head = await read(writes, where);
      expect(head?.earliestAvailableSeq).toBe(7n);
      expect(head?.latestSeq).toBeUndefined();
      expect(isSuperseded(head, headWrite())).toBe(false);
    });

    it('a conversation without a head reads as undefined, in another tenant too', async () => {
      const { writes } = opened();
      const where = place();
      await put(writes, where, headWrite());
      expect(await read(writes, { ...where, tenantId: tenant() })).toBeUndefined();
      expect(await read(writes, place())).toBeUndefined();
    });

    it('B07 lists every conversation once, in steps of any size, and says where it ends', async () => {
      const { writes } = opened();
      const places = Array.from({ length: 23 }, place);
      await Promise.all(places.map((where, at) => put(writes, where, headWrite({ latestSeq: BigInt(at) }))));
      for (const limit of [1, 7, 1_000]) {
        const seen = new Map<string, bigint | undefined>();
        let from: string | undefined;
        let pages = 0;
        do {
          const { heads, next } = await writes.listHeads(from, limit);
          expect(heads.length).toBeLessThanOrEqual(limit);
          for (const { tenantId, conversationId, head } of heads) {
            const name = Buffer.concat([tenantId, conversationId]).toString('hex');
            expect(seen.has(name)).toBe(false);
            seen.set(name, head.latestSeq);
          }
          from = next;
          expect(++pages).toBeLessThan(1_000);
        } while (from !== undefined);
        places.forEach((where, at) => {
          const name = Buffer.concat([where.tenantId, where.conversationId]).toString('hex');
          expect(seen.get(name)).toBe(BigInt(at));
        });
      }
    });
  });
}
