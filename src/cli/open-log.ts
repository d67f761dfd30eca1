/**
 * The log that the settings name: in the embedded store's file, on Kafka brokers, or none. Settings that were loaded are
 * checked together already (load-settings.ts). Kafka's client is loaded only where it is used.
 */
import { MailjoinError } from '../domain/errors.js';
import type { Clock } from '../domain/ports.js';
import type { LogReader, Outbox } from '../domain/write-ports.js';
import type { Settings } from './settings.js';
import { brokersReached } from './tls-settings.js';

export type LogKind = 'none' | 'embedded' | 'kafka';

/** The kind of log: what is set, or else what goes with the store. */
export function logKindOf(settings: Pick<Settings, 'log' | 'store' | 'brokers'>): LogKind {
  if (settings.log !== undefined) return settings.log;
  if (settings.brokers !== undefined) return 'kafka';
  return settings.store === 'embedded' ? 'embedded' : 'none';
}

/**
 * A log to read, or undefined for "none". A log on Kafka is to be closed by the caller; `embedded` is the one of the
 * opened store, closed with it. LOG_REFUSED or TLS_FAILED when brokers will not have us, TOPIC_MISSING when
 * they have no such topic; those that cannot be reached are waited for later.
 */
export async function openLogReader(
  settings: Settings,
  embedded: LogReader | undefined,
  clock: Clock,
): Promise<LogReader | undefined> {
  const kind = logKindOf(settings);
  if (kind === 'none') return undefined;
  if (kind === 'embedded') return embedded;
  const { KafkaLog } = await import('../kafka/kafka-log.js');
  return KafkaLog.openReader({ ...brokersReached(settings), topic: settings.topic, clock });
}

/**
 * A log to write to and to read, for writers: brokers are asked how large a record may be. CONFIG_INVALID where there is
 * none (a commit is acknowledged when the log has it: R5.1), LOG_UNAVAILABLE when no broker answers,
 * TOPIC_MISSING when they have no such topic, LOG_REFUSED or TLS_FAILED when they will not have us.
 */
export async function openLog(
  settings: Settings,
  embedded: (Outbox & LogReader) | undefined,
  clock: Clock,
): Promise<Outbox & LogReader> {
  const kind = logKindOf(settings);
  if (kind === 'embedded' && embedded !== undefined) return embedded;
  if (kind === 'kafka') {
    const { KafkaLog } = await import('../kafka/kafka-log.js');
    return KafkaLog.open({ ...brokersReached(settings), topic: settings.topic, clock });
  }
  throw new MailjoinError('CONFIG_INVALID', 'log is none: writing needs one (R5.1), so name --brokers');
}
