/**
 * The log that the settings name: in the embedded store's file, on Kafka brokers, or none. Settings that were loaded are
 * checked together already (load-settings.ts).
 */
import type { Clock } from '../domain/ports.js';
import type { LogReader } from '../domain/write-ports.js';
import { KafkaLog } from '../kafka/kafka-log.js';
import type { Settings } from './settings.js';

export type LogKind = 'none' | 'embedded' | 'kafka';

/** The kind of log: what is set, or else what goes with the store. */
export function logKindOf(settings: Pick<Settings, 'log' | 'store' | 'brokers'>): LogKind {
  if (settings.log !== undefined) return settings.log;
  if (settings.brokers !== undefined) return 'kafka';
  return settings.store === 'embedded' ? 'embedded' : 'none';
}

/**
 * A log to read, or undefined for "none". A log on Kafka contacts no broker yet and is to be closed by the caller;
 * `embedded` is the one of the opened store, closed with it.
 */
export function openLogReader(
  settings: Settings,
  embedded: LogReader | undefined,
  clock: Clock,
): LogReader | undefined {
  const kind = logKindOf(settings);
  if (kind === 'none') return undefined;
  if (kind === 'embedded') return embedded;
  return new KafkaLog({ brokers: settings.brokers ?? [], topic: settings.topic, clock });
}
