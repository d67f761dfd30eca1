/**
 * Names the data key of a conversation (R6.1): scope "conversation", and tenant and conversation as its id. The same
 * conversation_id under two tenants is two conversations in every table (R2), so it is two keys: what erases the one
 * leaves the other (R3.2). Pure.
 *
 *     key_id:  tenant uuid "/" conversation uuid                                          both in lower case, 73 bytes
 */
import { type ConversationId, formatUuid, parseUuid, type TenantId } from '../domain/ids.js';

export const CONVERSATION_SCOPE = 'conversation';

export function conversationKeyId(tenantId: TenantId, conversationId: ConversationId): string {
  return `${formatUuid(tenantId)}/${formatUuid(conversationId)}`;
}

/** A conversation's key_id as somebody wrote it, in its one form; undefined when it is none. */
export function parseConversationKeyId(text: string): string | undefined {
  const uuids = text.split('/').map(parseUuid);
  const [tenantId, conversationId] = uuids;
  if (uuids.length !== 2 || tenantId === undefined || conversationId === undefined) return undefined;
  return `${formatUuid(tenantId)}/${formatUuid(conversationId)}`;
}
