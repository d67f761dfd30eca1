import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Admission } from '../../src/workers/admission.js';

describe('Admission', () => {
  it('asserts when a claim is released twice', async () => {
    const admission = new Admission(10);
    await admission.claim(4);
    admission.release(4);
    expect(() => admission.release(4)).toThrow(/released once/);
  });

  it('turns away whoever waits, and nobody else', async () => {
    const admission = new Admission(10);
    await admission.claim(10);
    const waiting = admission.claim(1);
    admission.refuseAll(new Error('closing'));
    await expect(waiting).rejects.toThrow('closing');
    expect(admission.bytesInFlight).toBe(10);
    expect(admission.waiting).toBe(0);
  });

  it('admits a claim above the bound alone', async () => {
    const admission = new Admission(10);
    await admission.claim(1);
    const order: string[] = [];
    const large = admission.claim(100).then(() => order.push('large'));
    const small = admission.claim(1).then(() => order.push('small'));
    admission.release(1);
    await large;
    expect(order).toEqual(['large']);
    expect(admission.bytesInFlight).toBe(100);
    admission.release(100);
    await small;
    expect(order).toEqual(['large', 'small']);
  });

  it('B31: never has more than the bound in flight, admits in order, and admits everybody', async () => {
    const bound = 100;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(bound), { minLength: 1, maxLength: 60 }),
        fc.nat(),
        async (claims, seed) => {
          const admission = new Admission(bound);
          const admitted: number[] = [];
          const inFlight: number[] = [];
          claims.forEach((bytes, index) => {
            void admission.claim(bytes).then(() => {
              admitted.push(index);
              inFlight.push(bytes);
            });
          });
          let random = seed;
          while (admitted.length < claims.length || inFlight.length > 0) {
            await Promise.resolve();
            await Promise.resolve();
            expect(admission.bytesInFlight).toBeLessThanOrEqual(bound);
            if (inFlight.length === 0) continue;
            random = (random * 48_271 + 1) % 2_147_483_647;
            admission.release(inFlight.splice(random % inFlight.length, 1)[0] as number);
          }
          expect(admitted).toEqual(claims.map((_, index) => index));
          expect(admission.bytesInFlight).toBe(0);
        },
      ),
    );
  });
});
