/**
 * Where `mailjoin history` has its pages from: the store itself, or a running sidecar's socket, which shows just what
 * gateways see. Both give the client's form of a page. Owner: the main thread. Fails as they do.
 */
import { MailjoinClient } from '../client/client.js';
import type { HistoryEntry, HistoryPage } from '../client/history-call.js';
import type { ResultName } from '../client/join-result.js';
import type { HistoryOutcome } from '../codec/history-outcome.js';
import { HistoryDirection, historyStopName } from '../domain/history.js';
import { type ConversationId, ID_BYTES, type TenantId } from '../domain/ids.js';
import { DEADLINE_MS_DEFAULT, RESPONSE_BYTES_MAX } from '../domain/limits.js';
import { resultName } from '../domain/result.js';
import type { Log } from '../server/log.js';
import { openReader } from './open-reader.js';
import type { Settings } from './settings.js';

export interface PageRequest {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly newer: boolean;
  readonly anchor: bigint | undefined;
  readonly limit: number;
}

export type ShownPage = Omit<HistoryPage, 'receipt'>;

export interface HistorySource {
  page(request: PageRequest): Promise<ShownPage>;
  close(): Promise<void>;
}

const BOUNDS = { deadlineMs: DEADLINE_MS_DEFAULT.MAILBOX_BATCH, responseBytesMax: RESPONSE_BYTES_MAX };

export function socketSource(socketPath: string): HistorySource {
  const client = new MailjoinClient({ socketPath, connectionsMax: 1 });
  return {
    page: ({ newer, ...request }) =>
      client.history({ ...request, ...BOUNDS, direction: newer ? 'newer' : 'older' }),
    close: () => client.close(),
  };
}

export async function storeSource(settings: Settings, log: Log): Promise<HistorySource> {
  const { history, close } = await openReader(settings, log);
  const { NEWER, OLDER } = HistoryDirection;
  return {
    page: async ({ newer, ...request }) =>
      pageOf(await history.page({ ...request, ...BOUNDS, direction: newer ? NEWER : OLDER })),
    close,
  };
}

function pageOf({ entries, bodies, hasMore, nextAnchor, stop, hole }: HistoryOutcome): ShownPage {
  const views = bodies.views();
  const shown: HistoryEntry[] = [];
  for (let index = 0; index < entries.count; index++) {
    const at = entries.messageAt[index] as number;
    // Every entry of an outcome is settled.
    const result = resultName(entries.code[index] as number) as ResultName;
    const body = views[(entries.body[index] as number) - 1];
    shown.push({ seq: entries.seq(index), messageId: entries.bytes.slice(at, at + ID_BYTES), result, body });
  }
  return { entries: shown, hasMore, nextAnchor, stop: historyStopName(stop), hole };
}
