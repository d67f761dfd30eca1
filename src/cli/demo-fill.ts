/**
 * Writes the demo's data set into any message store, as a writer would: an INSERT with its TTL, then edit, recall and
 * reaction summaries with their own timestamps (D14, D19). Messages go in side by side, each one's writes in order.
 * Ends with the store's error on the first write that fails; every write can be repeated.
 */
import type { ConversationId, TenantId } from '../domain/ids.js';
import type { DekId } from '../domain/message.js';
import type { MessageStore } from '../domain/ports.js';
import type { DemoDataset } from './demo-data.js';
import type { DemoContent, DemoMessage } from './demo-message.js';

/** What is sealed, and where it belongs (R6.1). */
export interface DemoSealing {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly seq: bigint;
  readonly dekId: DekId;
  readonly plaintext: Uint8Array;
}

export interface FillOptions {
  /** Seals a payload with the key that dekId names; gives the envelope (D10). */
  readonly seal: (sealing: DemoSealing) => Uint8Array;
  /** Messages being written at once. */
  readonly concurrency?: number;
  /** Told after each message. */
  readonly onProgress?: (written: number, total: number) => void;
}

export interface FillCounts {
  readonly messages: number;
  readonly edits: number;
  readonly recalls: number;
  readonly summaries: number;
  /** Bytes of sealed payloads and of metadata. */
  readonly bytes: number;
}

const CONCURRENCY_DEFAULT = 128;

export async function fillStore(
  store: MessageStore,
  dataset: DemoDataset,
  options: FillOptions,
): Promise<FillCounts> {
  const { messages } = dataset;
  const counts = { messages: 0, edits: 0, recalls: 0, summaries: 0, bytes: 0 };
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (!failed && next < messages.length) {
      // next lies below the length.
      const message = messages[next++] as DemoMessage;
      try {
        const bytes = await writeMessage(store, message, options.seal);
        counts.bytes += bytes;
      } catch (error) {
        failed = true;
        throw error;
      }
      counts.messages++;
      if (message.edit !== undefined) counts.edits++;
      if (message.recall !== undefined) counts.recalls++;
      counts.summaries += message.summaries.length;
      options.onProgress?.(counts.messages, messages.length);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency ?? CONCURRENCY_DEFAULT }, lane));
  return counts;
}

async function writeMessage(
  store: MessageStore,
  message: DemoMessage,
  seal: FillOptions['seal'],
): Promise<number> {
  const { where, record, ttlSeconds, edit, recall } = message;
  const envelope = (content: DemoContent): Uint8Array =>
    content.dekId === undefined
      ? content.plaintext
      : seal({
          tenantId: where.tenantId,
          conversationId: where.conversationId,
          seq: content.sealSeq,
          dekId: content.dekId,
          plaintext: content.plaintext,
        });
  const payload = envelope(message.content);
  const timestampMicros = record.createdAtMs * 1000n;
  await store.insertRecord(where, { ...record, payload }, { ttlSeconds, timestampMicros });
  if (edit !== undefined) {
    const { content, activityId } = edit;
    await store.editRecord(
      where,
      {
        payload: envelope(content),
        dekId: content.dekId,
        editedAtActivityId: activityId,
        lastActivityId: activityId,
      },
      { ttlSeconds, timestampMicros: edit.timestampMicros },
    );
  }
  if (recall !== undefined) {
    await store.recallRecord(
      where,
      { recallEventSeq: recall.recallEventSeq, lastActivityId: recall.activityId },
      { ttlSeconds, timestampMicros: recall.timestampMicros },
    );
  }
  for (const summary of message.summaries) await store.putSummary(where, summary);
  return payload.length + (record.mediaMetadata?.length ?? 0) + (record.mentionTargets?.length ?? 0);
}
