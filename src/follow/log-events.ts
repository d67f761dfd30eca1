/**
 * What one record of the log means for this node's cache, applied at once and synchronously:
 *
 *     recall, edit    the floor first, then what is cached or being read below it goes
 *     reactions       the cached body gets the new summary; what still has an older one goes
 *     keyDestroyed    the keyring first, then every cached body under the key
 *     message         offered for warming
 *
 * Repetitions change nothing. What cannot be decoded, or has a body of a later version, is counted and passed over: a
 * record must never stop the ones behind it.
 */
import { decodeLogRecord, type LogReactions, type LogRecord } from '../codec/log-record.js';
import { MailjoinError } from '../domain/errors.js';
import { RECALL_FLOOR_AGE_MS_MAX } from '../domain/limits.js';
import type { DekId, ReactionSummary } from '../domain/message.js';
import type { LogEntry } from '../domain/write-ports.js';
import type { Joiner } from '../join/joiner.js';
import type { Warmer } from './warmer.js';

export interface LogEventsOptions {
  readonly joiner: Pick<Joiner, 'raiseFloor' | 'replaceSummary'>;
  /** In this order; each may be told of a key again. */
  readonly onKeyDestroyed: readonly ((dekId: DekId) => void)[];
  readonly warmer?: Warmer | undefined;
  /** Told of every record that was passed over, by its error: for logs. */
  readonly onSkipped?: ((entry: LogEntry, error: unknown) => void) | undefined;
}

export interface LogEventsStats {
  readonly recalls: number;
  readonly edits: number;
  readonly reactions: number;
  readonly keysDestroyed: number;
  readonly messages: number;
  /** Bodies that this version does not know. */
  readonly unknown: number;
  /** Records that could not be decoded or applied. */
  readonly skipped: number;
}

export class LogEvents {
  readonly #options: LogEventsOptions;
  readonly #counts = {
    recalls: 0,
    edits: 0,
    reactions: 0,
    keysDestroyed: 0,
    messages: 0,
    unknown: 0,
    skipped: 0,
  };

  constructor(options: LogEventsOptions) {
    this.#options = options;
  }

  /** Never throws. */
  apply(entry: LogEntry): void {
    try {
      const record = decodeLogRecord(entry.value);
      if (record === undefined) this.#counts.unknown++;
      else this.#applyRecord(record);
    } catch (error) {
      this.#counts.skipped++;
      this.#options.onSkipped?.(entry, error);
    }
  }

  stats(): LogEventsStats {
    return { ...this.#counts };
  }

  #applyRecord(record: LogRecord): void {
    const { joiner, warmer, onKeyDestroyed } = this.#options;
    switch (record.kind) {
      case 'recall':
      case 'edit': {
        const { tenantId, target, lastActivityId } = record;
        const isRecall = record.kind === 'recall';
        warmer?.changed(tenantId, target.messageId);
        const floor = { activityId: lastActivityId, summaryVersion: 0n, recalled: isRecall };
        // A recall whose writer died before the row shows it must hold until a recovery run, not for a moment only.
        joiner.raiseFloor(tenantId, target.messageId, floor, isRecall ? RECALL_FLOOR_AGE_MS_MAX : 0);
        if (isRecall) this.#counts.recalls++;
        else this.#counts.edits++;
        return;
      }
      case 'reactions': {
        const { tenantId, conversationId, target } = record;
        warmer?.changed(tenantId, target.messageId);
        const where = { tenantId, conversationId, seq: target.seq };
        joiner.replaceSummary(where, target.messageId, summaryOf(record));
        this.#counts.reactions++;
        return;
      }
      case 'keyDestroyed':
        tellAll(onKeyDestroyed, record.dekId);
        this.#counts.keysDestroyed++;
        return;
      case 'message':
        warmer?.offer(record);
        this.#counts.messages++;
    }
  }
}

/** As a read would give it: without keys that are gone (D19), in the order of the keys' bytes. */
function summaryOf({ target, counts, summaryVersion, updatedAtMs }: LogReactions): ReactionSummary {
  const shown = counts.filter(([, count]) => count > 0);
  shown.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return { seq: target.seq, counts: shown, version: summaryVersion, updatedAtMs };
}

/** Every listener is told, whatever the one before it throws. */
function tellAll(listeners: readonly ((dekId: DekId) => void)[], dekId: DekId): void {
  const failures: unknown[] = [];
  for (const listener of listeners) {
    try {
      listener(dekId);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    throw new MailjoinError('INTERNAL', 'a destroyed key was not taken by all', { cause: failures[0] });
  }
}
