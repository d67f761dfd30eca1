/** message_index and checkpoints: small rows beside the messages (R2.2, D21). */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { conversation, INSERT_MICROS, life, message, tenant, until } from './fixtures.js';
import { type Opened, plainValue, SEQ_REFUSED, SEQS_ACCEPTED, SEQS_REFUSED } from './write-contract.js';

export function indexContract(opened: Opened): void {
  describe('message_index', () => {
    const entry = (seq = 3n) => ({ conversationId: conversation(), seq });

    it.each(SEQS_REFUSED)('S-2 R1.1 seq %s is refused before anything is sent', async (seq) => {
      const { writes } = opened();
      const [tenantId, id] = [tenant(), message()];
      await expect(writes.putIndex(tenantId, id, entry(seq), life())).rejects.toMatchObject(SEQ_REFUSED);
      expect(await writes.lookup(tenantId, id)).toBeUndefined();
    });

    it.each([0, -1, 0.4, 630_720_001])(
      'D8 B14 a TTL of %s seconds is refused, and nothing is written',
      async (ttl) => {
        const { writes } = opened();
        const [tenantId, id] = [tenant(), message()];
        await expect(writes.putIndex(tenantId, id, entry(), life(INSERT_MICROS, ttl))).rejects.toMatchObject({
          code: 'TTL_RANGE',
        });
        expect(await writes.lookup(tenantId, id)).toBeUndefined();
      },
    );

    it.each(SEQS_ACCEPTED)('S-2 finds seq %s exactly', async (seq) => {
      const { writes, second } = opened();
      const [tenantId, id, where] = [tenant(), message(), entry(seq)];
      await writes.putIndex(tenantId, id, where, life());
      expect(plainValue(await second.lookup(tenantId, id))).toEqual(plainValue(where));
    });

    it('B42 a message of another tenant is not found', async () => {
      const { writes } = opened();
      const id = message();
      await writes.putIndex(tenant(), id, entry(), life());
      expect(await writes.lookup(tenant(), id)).toBeUndefined();
    });

    it('D15 a repeated insert changes nothing', async () => {
      const { writes } = opened();
      const [tenantId, id, where] = [tenant(), message(), entry()];
      for (let i = 0; i < 3; i++) await writes.putIndex(tenantId, id, where, life(INSERT_MICROS, 1000));
      expect(plainValue(await writes.lookup(tenantId, id))).toEqual(plainValue(where));
    });

    it('D21 B12 a row goes with its TTL, whole', { timeout: 20_000 }, async () => {
      const { writes } = opened();
      const [tenantId, id, where] = [tenant(), message(), entry()];
      await writes.putIndex(tenantId, id, where, life(INSERT_MICROS, 2));
      let found = 0;
      await until(async () => {
        const got = await writes.lookup(tenantId, id);
        if (got === undefined) return true;
        expect(plainValue(got)).toEqual(plainValue(where));
        found++;
        return false;
      });
      expect(found).toBeGreaterThan(0);
    });

    it('D20 D21 written again without a TTL and later it outlives its former one', {
      timeout: 20_000,
    }, async () => {
      const { writes } = opened();
      const [tenantId, held, gone, where] = [tenant(), message(), message(), entry()];
      await writes.putIndex(tenantId, held, where, life(INSERT_MICROS, 2));
      await writes.putIndex(tenantId, held, where, life(INSERT_MICROS + 1n));
      await writes.putIndex(tenantId, gone, where, life(INSERT_MICROS, 2));
      await until(async () => (await writes.lookup(tenantId, gone)) === undefined);
      expect(plainValue(await writes.lookup(tenantId, held))).toEqual(plainValue(where));
    });
  });

  describe('checkpoints', () => {
    const unused = () => `check-${randomBytes(6).toString('hex')}`;

    it('one that was never saved is undefined', async () => {
      expect(await opened().writes.loadCheckpoint(unused())).toBeUndefined();
    });

    it('the last saved value stands, for other clients too, and names are apart', async () => {
      const { writes, second } = opened();
      const [a, b] = [unused(), unused()];
      await writes.saveCheckpoint(a, 'one');
      await writes.saveCheckpoint(b, '{"0":"9223372036854775807"}');
      await writes.saveCheckpoint(a, 'zwei é');
      await writes.saveCheckpoint(a, 'a');
      expect(await second.loadCheckpoint(a)).toBe('a');
      expect(await second.loadCheckpoint(b)).toBe('{"0":"9223372036854775807"}');
    });

    it('an empty value is not an absent one', async () => {
      const { writes } = opened();
      const name = unused();
      await writes.saveCheckpoint(name, '');
      expect(await writes.loadCheckpoint(name)).toBe('');
    });
  });
}
