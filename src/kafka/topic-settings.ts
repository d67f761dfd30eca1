/**
 * What the topic of a log is set to when it is made, and what is to be said of one that is there with other settings.
 * How long records are kept is left to the brokers. Pure.
 */
import { LOG_RECORD_BYTES_MAX } from '../domain/limits.js';

/** What a batch of one record takes beside key and value, at most. */
export const BATCH_OVERHEAD_BYTES = 256;
/** From so many replicas on, two must have a record before it is acknowledged: acks = all then survives one broker. */
const REPLICAS_FOR_TWO = 3;

/** As the brokers apply them when they are named so. The client knows how to open gzip alone. */
const READABLE_COMPRESSIONS: ReadonlySet<string> = new Set(['producer', 'uncompressed', 'gzip']);

const WANTED = {
  // A conversation's records have one key: compaction would keep its last message alone.
  'cleanup.policy': 'delete',
  'compression.type': 'producer',
  'max.message.bytes': String(LOG_RECORD_BYTES_MAX + BATCH_OVERHEAD_BYTES),
  // How far behind a reader is, and how old a message, is told by when the broker took its record.
  'message.timestamp.type': 'LogAppendTime',
} as const;

export const TOPIC_SETTING_NAMES: readonly string[] = Object.keys(WANTED);

export interface TopicSetting {
  readonly name: string;
  readonly value: string;
}

/** The settings of a new topic. */
export function settingsOfNewTopic(replicationFactor: number): TopicSetting[] {
  const settings = Object.entries(WANTED).map(([name, value]) => ({ name, value }));
  return replicationFactor < REPLICAS_FOR_TWO
    ? settings
    : [...settings, { name: 'min.insync.replicas', value: '2' }];
}

export interface TopicFinding {
  /** A sentence that begins with the setting. */
  readonly text: string;
  /** Records of the topic are lost, or cannot be read. */
  readonly isHarmful: boolean;
}

/** What is to be said of a topic's settings by name; one that its broker does not tell is passed over. */
export function topicFindings(live: ReadonlyMap<string, string>): TopicFinding[] {
  const findings: TopicFinding[] = [];
  const differ = (name: keyof typeof WANTED, isHarmful: boolean, why: string) =>
    findings.push({ text: `${name} is ${live.get(name)}, not ${WANTED[name]}: ${why}`, isHarmful });
  const policy = live.get('cleanup.policy') ?? 'delete';
  if (policy.split(',').includes('compact')) {
    differ('cleanup.policy', true, 'of each conversation the last record alone would be kept');
  }
  const compression = live.get('compression.type') ?? 'producer';
  if (!READABLE_COMPRESSIONS.has(compression)) {
    differ('compression.type', true, 'readers of the log cannot open its records');
  }
  const bytes = live.get('max.message.bytes') ?? WANTED['max.message.bytes'];
  if (Number(bytes) < Number(WANTED['max.message.bytes'])) {
    differ('max.message.bytes', false, 'messages that are larger are refused');
  }
  const time = live.get('message.timestamp.type') ?? WANTED['message.timestamp.type'];
  if (time !== WANTED['message.timestamp.type']) {
    differ('message.timestamp.type', false, 'how far behind a reader is depends on the writers’ clocks');
  }
  return findings;
}
