import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../src/kafka/partition-of.js';

describe('partitionOf', () => {
  it('agrees with the partitioner of other Kafka clients, whatever the key', () => {
    const theirs = Partitioners.DefaultPartitioner();
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 50 }),
        (key, count) => {
          const partitionMetadata = Array.from({ length: count }, (_, partitionId) => ({
            partitionId,
            leader: 1,
            partitionErrorCode: 0,
            replicas: [1],
            isr: [1],
          }));
          const message = { key: Buffer.from(key), value: null };
          expect(partitionOf(key, count)).toBe(theirs({ topic: 't', partitionMetadata, message }));
        },
      ),
    );
  });
});
