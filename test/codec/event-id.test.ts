import { blake3 } from '@noble/hashes/blake3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventIdentity, eventId } from '../../src/codec/event-id.js';
import { conversation, message, tenant } from '../stores/fixtures.js';

const EVENT: EventIdentity = {
  kind: 'recall',
  tenantId: tenant(Buffer.alloc(16, 1)),
  conversationId: conversation(Buffer.alloc(16, 2)),
  messageId: message(Buffer.alloc(16, 3)),
  seq: 0x0405060708090a0bn,
};

describe('event_id', () => {
  it('stays what it is: every repetition, also by a later version, has it', () => {
    const hashed = Buffer.concat([
      Buffer.from('mailjoin.event.v2'),
      Uint8Array.of(1),
      ...[1, 2, 3].map((byte) => Buffer.alloc(16, byte)),
      Uint8Array.of(4, 5, 6, 7, 8, 9, 10, 11),
    ]);
    const expected = Buffer.from(blake3(hashed)).subarray(0, 8).readBigUInt64BE();
    expect(eventId(EVENT)).toBe(expected);
    expect(eventId({ ...EVENT })).toBe(7_354_060_797_745_413_085n);
  });

  it('differs when anything of the event differs', () => {
    const changed: EventIdentity[] = [
      EVENT,
      { ...EVENT, kind: 'edit' },
      { ...EVENT, tenantId: tenant() },
      { ...EVENT, conversationId: conversation() },
      { ...EVENT, messageId: message() },
      { ...EVENT, seq: EVENT.seq + 1n },
    ];
    expect(new Set(changed.map(eventId)).size).toBe(changed.length);
  });

  it('is an unsigned 64-bit number', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const id = eventId({ ...EVENT, messageId: message(bytes) });
        expect(id >= 0n && id < 2n ** 64n).toBe(true);
      }),
    );
  });
});
