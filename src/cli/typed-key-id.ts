/**
 * A data key's id as somebody typed it. That of a conversation has one form (conversation-key.ts), in which writers look
 * for it: written in capitals it is the same key, and a conversation_id alone names none, since several tenants may have
 * that conversation. Fails with a UsageError that says the form.
 */
import { CONVERSATION_SCOPE, parseConversationKeyId } from '../crypto/conversation-key.js';
import type { KeyAdmin } from '../crypto/key-admin.js';
import { UsageError } from './usage-error.js';

/** For a key that is to be made: writers would never use one of another form. */
export function typedKeyId(scope: string, id: string): string {
  const known = scope === CONVERSATION_SCOPE ? parseConversationKeyId(id) : id;
  if (known === undefined) throw unnamed();
  return known;
}

/** For keys that are there: what `keys list` prints is taken as it is, whatever its form. */
export async function existingKeyId(
  keys: Pick<KeyAdmin, 'list'>,
  scope: string,
  id: string,
): Promise<string> {
  const known = scope === CONVERSATION_SCOPE ? parseConversationKeyId(id) : id;
  if (known !== undefined) return known;
  for await (const _ of keys.list(scope, id)) return id;
  throw unnamed();
}

function unnamed(): UsageError {
  return new UsageError(
    `the ID of a key of scope ${CONVERSATION_SCOPE} is TENANT_UUID/CONVERSATION_UUID, as "keys list" prints it`,
  );
}
