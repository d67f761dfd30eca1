/** client_dedup: reserved once, completed once, and the ids that a retry replays (R5.1, D7, D16). */
import { describe, expect, it } from 'vitest';
import { type DedupEntry, DedupState, type DedupStore } from '../../src/domain/write-ports.js';
import { message } from './fixtures.js';
import {
  type Opened,
  plainValue,
  reservation,
  SEQ_REFUSED,
  SEQS_ACCEPTED,
  SEQS_REFUSED,
} from './write-contract.js';

const readBack = (store: DedupStore, { tenantId, senderId, clientMessageId }: DedupEntry) =>
  store.read(tenantId, senderId, clientMessageId);
const committed = (entry: DedupEntry): DedupEntry => ({ ...entry, state: DedupState.COMMITTED });

export function dedupContract(opened: Opened): void {
  describe('client_dedup', () => {
    it.each(SEQS_REFUSED)('S-2 R1.1 seq %s is refused before anything is sent', async (seq) => {
      const { writes } = opened();
      const entry = reservation({ seq });
      await expect(writes.reserve(entry)).rejects.toMatchObject(SEQ_REFUSED);
      await expect(writes.complete(entry)).rejects.toMatchObject(SEQ_REFUSED);
      expect(await readBack(writes, entry)).toBeUndefined();
    });

    it.each(SEQS_ACCEPTED)('S-2 seq %s comes back exact', async (seq) => {
      const { writes } = opened();
      const entry = reservation({ seq });
      expect(await writes.reserve(entry)).toBeUndefined();
      expect(plainValue(await readBack(writes, entry))).toEqual(plainValue(entry));
    });

    it('completing what was never reserved is false and leaves nothing', async () => {
      const { writes } = opened();
      const entry = reservation();
      expect(await writes.complete(entry)).toBe(false);
      expect(await readBack(writes, entry)).toBeUndefined();
    });

    it('an unknown client_message_id reads as undefined', async () => {
      expect(await readBack(opened().writes, reservation())).toBeUndefined();
    });

    it('D16 a retry with other ids, from another client too, gets the ids of the first', async () => {
      const { writes, second } = opened();
      const first = reservation();
      expect(await writes.reserve(first)).toBeUndefined();
      const retry = { ...first, messageId: message(), seq: 6n, createdAtMs: first.createdAtMs + 9n };
      for (const store of [writes, second]) {
        expect(plainValue(await store.reserve(retry))).toEqual(plainValue(first));
      }
      expect(plainValue(await readBack(second, first))).toEqual(plainValue(first));
    });

    it('D16 a repeat with the same ids is not taken for another: it is its own reservation', async () => {
      const { writes, second } = opened();
      const entry = reservation();
      expect(await writes.reserve(entry)).toBeUndefined();
      expect(await writes.reserve(entry)).toBeUndefined();
      expect(await second.reserve(entry)).toBeUndefined();
    });

    it('D16 the same seq under another message_id, and the reverse, are another message', async () => {
      const { writes } = opened();
      const entry = reservation();
      await writes.reserve(entry);
      expect(await writes.reserve({ ...entry, messageId: message() })).toBeDefined();
      expect(await writes.reserve({ ...entry, seq: entry.seq + 1n })).toBeDefined();
    });

    it('of concurrent reservations by two clients exactly one wins, and all others learn its ids', async () => {
      const { writes, second } = opened();
      const shared = reservation();
      const tries = Array.from({ length: 8 }, (_, at) => ({
        ...shared,
        messageId: message(),
        seq: BigInt(100 + at),
      }));
      const answers = await Promise.all(
        tries.map((entry, at) => (at % 2 === 0 ? writes : second).reserve(entry)),
      );
      const winners = tries.filter((_, at) => answers[at] === undefined);
      expect(winners.length).toBe(1);
      for (const answer of answers) {
        if (answer !== undefined) expect(plainValue(answer)).toEqual(plainValue(winners[0]));
      }
    });

    it('D7 COMMITTED is set once, and every id stays readable', async () => {
      const { writes } = opened();
      const entry = reservation();
      await writes.reserve(entry);
      expect(await writes.complete(entry)).toBe(true);
      expect(plainValue(await readBack(writes, entry))).toEqual(plainValue(committed(entry)));
      expect(await writes.complete(entry)).toBe(false);
      expect(plainValue(await readBack(writes, entry))).toEqual(plainValue(committed(entry)));
    });

    it('D16 a reservation that meets COMMITTED is told so, with its own ids too', async () => {
      const { writes, second } = opened();
      const entry = reservation();
      await writes.reserve(entry);
      await writes.complete(entry);
      expect(plainValue(await second.reserve(entry))).toEqual(plainValue(committed(entry)));
      expect(plainValue(await second.reserve({ ...entry, messageId: message() }))).toEqual(
        plainValue(committed(entry)),
      );
    });

    it("D7 nobody completes another's reservation", async () => {
      const { writes, second } = opened();
      const entry = reservation();
      await writes.reserve(entry);
      expect(await second.complete({ ...entry, messageId: message(), seq: 77n })).toBe(false);
      expect(plainValue(await readBack(writes, entry))).toEqual(plainValue(entry));
    });

    it('keeps tenants, senders and texts apart, and texts exact', async () => {
      const { writes } = opened();
      const entry = reservation({ clientMessageId: 'é-\u{1f600}-\u0000' });
      await writes.reserve(entry);
      const others = [
        reservation({ clientMessageId: entry.clientMessageId, senderId: entry.senderId }),
        reservation({ clientMessageId: entry.clientMessageId, tenantId: entry.tenantId }),
        { ...entry, clientMessageId: 'e\u0301-\u{1f600}-\u0000' },
      ];
      for (const other of others) expect(await writes.reserve(other)).toBeUndefined();
      expect(plainValue(await readBack(writes, entry))).toEqual(plainValue(entry));
    });
  });
}
