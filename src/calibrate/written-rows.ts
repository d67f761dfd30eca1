/**
 * Rows written to be measured: a full bucket of each size, under a random tenant and conversation that nobody else asks
 * for. They have a TTL of CALIBRATE_TTL_SECONDS and go by themselves; nothing is ever deleted (R3.2). They are not in
 * message_index and have no head and no reactions: what has no TTL would stay.
 *
 * A row has the columns that a message of `mailjoin commit` has; its payload is random bytes, which nothing opens.
 */
import { randomBytes } from 'node:crypto';
import { MailjoinError } from '../domain/errors.js';
import {
  type ActivityId,
  type ConversationId,
  ID_BYTES,
  type MessageId,
  type TenantId,
  type UserId,
} from '../domain/ids.js';
import {
  CALIBRATE_FAILURES_MAX,
  CALIBRATE_TTL_SECONDS,
  CALIBRATE_WRITES_IN_FLIGHT_MAX,
  PARTITION_ROWS_MAX,
} from '../domain/limits.js';
import { type Coordinates, type MessageRecord, MessageState, RetentionClass } from '../domain/message.js';
import type { Clock, MessageWriter, WriteLife } from '../domain/ports.js';
import { bucketOf } from '../domain/seq.js';
import type { SiteGroup } from './site.js';

export interface WriteRowsOptions {
  readonly writer: Pick<MessageWriter, 'insertRecord'>;
  readonly clock: Pick<Clock, 'epochMs'>;
  /** Bytes of a payload, one bucket of rows for each. */
  readonly rowBytes: readonly number[];
  readonly signal: AbortSignal;
  readonly onProgress?: (written: number, rows: number) => void;
}

/** Undefined when the signal aborted it. Fails with the store's error; what was written goes with its TTL. */
export async function writeRows(options: WriteRowsOptions): Promise<readonly SiteGroup[] | undefined> {
  const { writer, clock, rowBytes, signal, onProgress } = options;
  const tenantId = id<TenantId>();
  const groups: SiteGroup[] = rowBytes.map((bytes) => {
    const seqs = Array.from({ length: PARTITION_ROWS_MAX }, (_, at) => BigInt(at));
    const conversationId = id<ConversationId>();
    return { rowBytes: bytes, sites: [{ tenantId, conversationId, bucket: bucketOf(0n), seqs }] };
  });
  const rows = groups.length * PARTITION_ROWS_MAX;
  let [next, written, hasFailed] = [0, 0, false];
  const lane = async (): Promise<void> => {
    while (next < rows && !hasFailed && !signal.aborted) {
      const at = next++;
      const { rowBytes: bytes, sites } = groups[Math.floor(at / PARTITION_ROWS_MAX)] as SiteGroup;
      const seq = BigInt(at % PARTITION_ROWS_MAX);
      const createdAtMs = BigInt(clock.epochMs());
      const life = { ttlSeconds: CALIBRATE_TTL_SECONDS, timestampMicros: createdAtMs * 1_000n };
      const where = { tenantId, conversationId: sites[0]?.conversationId as ConversationId, seq };
      try {
        await insertPatiently(writer, where, rowOf(seq, createdAtMs, bytes), life);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
      written++;
      onProgress?.(written, rows);
    }
  };
  await Promise.all(Array.from({ length: CALIBRATE_WRITES_IN_FLIGHT_MAX }, lane));
  return signal.aborted ? undefined : groups;
}

/** A store that is late once or twice among thousands of writes does not end a run; an insert may be repeated (R2.1). */
async function insertPatiently(
  writer: WriteRowsOptions['writer'],
  where: Coordinates,
  record: MessageRecord,
  life: WriteLife,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await writer.insertRecord(where, record, life);
    } catch (error) {
      const canPass = error instanceof MailjoinError && error.retryable;
      if (!canPass || attempt === CALIBRATE_FAILURES_MAX) throw error;
    }
  }
}

function rowOf(seq: bigint, createdAtMs: bigint, payloadBytes: number): MessageRecord {
  return {
    seq,
    messageId: id<MessageId>(),
    lastActivityId: id<ActivityId>(),
    senderId: id<UserId>(),
    senderDeviceId: id<UserId>(),
    clientMessageId: `calibrate-${seq}`,
    messageType: 1,
    customType: undefined,
    schemaVersion: 1,
    payload: randomBytes(payloadBytes),
    mediaMetadata: undefined,
    replyToSeq: undefined,
    mentionTargets: undefined,
    state: MessageState.NORMAL,
    recallEventSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs,
    retentionClass: RetentionClass.EPHEMERAL_24H,
    dekId: { scope: 'calibrate', id: 'none', version: 1 },
    ttlSeconds: undefined,
  };
}

/** Random ids of 16 bytes, which is all that the brands say. */
function id<Id extends Uint8Array>(): Id {
  return randomBytes(ID_BYTES) as Uint8Array as Id;
}
