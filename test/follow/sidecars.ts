/** Whole sidecars on one store, and what they tell of themselves. */
import type { JoinResult, MailjoinClient } from '../../src/client/index.js';
import { decodeMessageBody } from '../../src/client/index.js';
import type { SidecarUnderTest, StoredConversation } from '../client/sidecar-under-test.js';
import { exchange } from '../server/server-fixture.js';
import { until } from '../stores/fixtures.js';
import type { Target } from './log-fixtures.js';

/** The first message of a conversation. */
export function firstOf({ tenantId, conversationId, messages }: StoredConversation): Target {
  const record = messages[0]?.record;
  if (record === undefined) throw new Error('a conversation has messages');
  return { tenantId, conversationId, seq: record.seq, messageId: record.messageId };
}

export function joinAll(client: MailjoinClient, targets: readonly Target[]): Promise<JoinResult> {
  const [first] = targets;
  if (first === undefined) throw new Error('something to join');
  const entries = targets.map(({ conversationId, seq, messageId }) => ({ conversationId, seq, messageId }));
  return client.join({ kind: 'MAILBOX_BATCH', tenantId: first.tenantId, entries, wantReceipt: true });
}

/** The result of one message, with its payload as text where there is one. */
export async function resultOf(
  client: MailjoinClient,
  target: Target,
): Promise<[string, string | undefined]> {
  const { entries } = await joinAll(client, [target]);
  const entry = entries[0];
  if (entry === undefined) throw new Error('one result per entry');
  const payload = entry.body === undefined ? undefined : decodeMessageBody(entry.body).payload;
  return [entry.result, payload === undefined ? undefined : Buffer.from(payload).toString('hex')];
}

/** The value of a metric; 0 while it is not there. */
export async function metric({ socketPath }: SidecarUnderTest, name: string): Promise<number> {
  const page = await exchange(socketPath, Buffer.from('GET /metrics HTTP/1.1\r\nhost: m\r\n\r\n'));
  const line = page.body
    .toString()
    .split('\n')
    .find((text) => text.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** Resolves when a sidecar has applied so many records of a kind. */
export async function applied(sidecar: SidecarUnderTest, kind: string, count = 1): Promise<void> {
  await until(async () => (await metric(sidecar, `mailjoin_log_records_total{kind="${kind}"}`)) >= count);
}

export async function isReady({ socketPath }: SidecarUnderTest): Promise<boolean> {
  return (await exchange(socketPath, Buffer.from('GET /readyz HTTP/1.1\r\nhost: m\r\n\r\n'))).status === 200;
}
