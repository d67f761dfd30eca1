import { blake3 } from '@noble/hashes/blake3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventIdentity, eventId } from '../../src/codec/event-id.js';
import { activity, conversation, message, tenant } from '../stores/fixtures.js';

const EVENT: EventIdentity = {
  kind: 'recall',
  tenantId: tenant(Buffer.alloc(16, 1)),
  conversationId: conversation(Buffer.alloc(16, 2)),
  messageId: message(Buffer.alloc(16, 3)),
  activityId: activity(Buffer.alloc(16, 4)),
};

describe('event_id', () => {
  it('stays what it is: every repetition, also by a later version, has it', () => {
    const hashed = Buffer.concat([
      Buffer.from('mailjoin.event.v1'),
      Uint8Array.of(1),
      ...[1, 2, 3, 4].map((byte) => Buffer.alloc(16, byte)),
    ]);
    const expected = Buffer.from(blake3(hashed)).subarray(0, 8).readBigUInt64BE();
    expect(eventId(EVENT)).toBe(expected);
    expect(eventId({ ...EVENT })).toBe(14_755_758_852_103_911_765n);
  });

  it('differs when anything of the event differs', () => {
    const changed: EventIdentity[] = [
      EVENT,
      { ...EVENT, kind: 'edit' },
      { ...EVENT, tenantId: tenant() },
      { ...EVENT, conversationId: conversation() },
      { ...EVENT, messageId: message() },
      { ...EVENT, activityId: activity() },
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
