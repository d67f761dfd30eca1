/**
 * Ids as callers have them, bytes or text, in the form that the code works with. MESSAGE_INVALID names the field; the
 * value itself is not repeated.
 */
import { MailjoinError } from '../domain/errors.js';
import {
  type ConversationId,
  conversationIdOf,
  type MessageId,
  messageIdOf,
  parseIdHex,
  parseUuid,
  type TenantId,
  tenantIdOf,
  type UserId,
  userIdOf,
} from '../domain/ids.js';

/** uuid: 16 bytes in network order, or its text form. */
export function toTenantId(id: Uint8Array | string, name = 'tenant_id'): TenantId {
  return idFrom(id, parseUuid, tenantIdOf, `${name} is no uuid`);
}

/** uuid: 16 bytes in network order, or its text form. */
export function toConversationId(id: Uint8Array | string, name = 'conversation_id'): ConversationId {
  return idFrom(id, parseUuid, conversationIdOf, `${name} is no uuid`);
}

/** uuid: 16 bytes in network order, or its text form. */
export function toUserId(id: Uint8Array | string, name = 'user_id'): UserId {
  return idFrom(id, parseUuid, userIdOf, `${name} is no uuid`);
}

/** u128: 16 bytes big-endian, or 32 hexadecimal digits. */
export function toMessageId(id: Uint8Array | string, name = 'message_id'): MessageId {
  return idFrom(id, parseIdHex, messageIdOf, `${name} has not 32 hexadecimal digits`);
}

function idFrom<T>(
  id: Uint8Array | string,
  parse: (text: string) => Uint8Array | undefined,
  brand: (bytes: Uint8Array) => T | undefined,
  problem: string,
): T {
  const bytes = typeof id === 'string' ? parse(id) : id;
  const branded = bytes && brand(bytes);
  if (branded === undefined) throw new MailjoinError('MESSAGE_INVALID', problem);
  return branded;
}
