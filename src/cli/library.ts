/**
 * `mailjoin/store`: the write side as a library. openWriter() opens what its settings name (a store, a log, keys) and
 * gives a Writer; whoever has adapters of their own makes a Writer over the ports instead.
 *
 *     const store = await openWriter({ store: 'cql', contactPoints: ['10.0.0.5'], brokers: ['10.0.0.7:9092'], kekFile });
 *     const { messageId, seq } = await store.writer.commit({ tenantId, conversationId, senderId, clientMessageId, payload });
 *     await store.close(10_000);
 *
 * Settings have the names, defaults and checks of the program's; the environment is not looked at. Failures are
 * MailjoinErrors with a stable `code` and `retryable`.
 */

import type { Log } from '../server/log.js';
import { loadSettings } from './load-settings.js';
import { JsonLog } from './log.js';
import { type OpenedWriter, type OpenWriterOptions, openWriter as open } from './open-writer.js';
import { SETTING_NAMES, type SettingName, type Settings, settingOf } from './settings.js';
import type { Problem } from './settings-error.js';
import { didYouMean } from './suggestion.js';

export { conversationKeyId } from '../crypto/conversation-key.js';
export type { Log } from '../server/log.js';
export * from '../write/index.js';
export { toConversationId, toMessageId, toTenantId, toUserId } from './caller-ids.js';
export { mediaFromJson, mentionsFromJson } from './content-json.js';
export type { OpenedWriter, OpenWriterOptions } from './open-writer.js';
export type { Settings } from './settings.js';

/** Fails with CONFIG_INVALID (every problem at once), KEY_FILE, STORE_*, SCHEMA_*, LOG_* or TOPIC_MISSING. */
export async function openWriter(
  given: Partial<Settings>,
  options: OpenWriterOptions & { readonly log?: Log } = {},
): Promise<OpenedWriter> {
  const settings = checked(given);
  const { log = new JsonLog(settings.logLevel), ...others } = options;
  return open(settings, log, others);
}

/** Values as the program would have read them from texts: so both are held to the same checks. */
function checked(given: Partial<Settings>): Settings {
  const texts = new Map<SettingName, string>();
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const name = SETTING_NAMES.find((known) => known === key);
    if (name === undefined) {
      problems.push({
        setting: key,
        source: 'openWriter',
        reason: `no such setting${didYouMean(key, SETTING_NAMES)}`,
      });
    } else if (typeof value === 'object' && !Array.isArray(value)) {
      problems.push({ setting: key, source: 'openWriter', reason: 'has no form that this setting takes' });
    } else {
      texts.set(name, typeof value === 'string' ? value : settingOf(name).type.format(value));
    }
  }
  return loadSettings({ flags: texts, environment: {} }, problems);
}
