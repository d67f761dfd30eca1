/** Ids as somebody typed them on the command line: a usage error names the operand or flag, and repeats no value. */
import {
  type ConversationId,
  conversationIdOf,
  type MessageId,
  messageIdOf,
  parseIdHex,
  parseUuid,
  type TenantId,
  tenantIdOf,
} from '../domain/ids.js';
import { UsageError } from './usage-error.js';

export function typedTenantId(text: string | undefined, name: string): TenantId {
  return typed(text && parseUuid(text), tenantIdOf, `${name} must be a uuid`);
}

export function typedConversationId(text: string | undefined, name: string): ConversationId {
  return typed(text && parseUuid(text), conversationIdOf, `${name} must be a uuid`);
}

export function typedMessageId(text: string | undefined, name: string): MessageId {
  return typed(text && parseIdHex(text), messageIdOf, `${name} must be 32 hexadecimal digits`);
}

function typed<T>(
  bytes: Uint8Array | string | undefined,
  brand: (bytes: Uint8Array) => T | undefined,
  problem: string,
): T {
  const id = bytes instanceof Uint8Array ? brand(bytes) : undefined;
  if (id === undefined) throw new UsageError(problem);
  return id;
}
