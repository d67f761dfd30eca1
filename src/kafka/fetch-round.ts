/**
 * One round of fetching: one request to each leader of the wanted partitions, side by side, and what came back by
 * partition. An offset that the broker does not have any more, or not yet (the topic was replaced), becomes the earliest
 * that there is: repeating is harmless, missing is not.
 */
import type { Broker, Cluster } from 'kafkajs';
import { LOG_PAGE_BYTES_MAX } from '../domain/limits.js';
import type { LogEntry } from '../domain/write-ports.js';
import { protocolName } from './refusal.js';

/** How long a broker holds a request that finds nothing. With several leaders the others wait for the slowest. */
const WAIT_MS = 250;
const READ_UNCOMMITTED = 0;

export interface FetchedPartition {
  readonly partition: number;
  readonly entries: readonly LogEntry[];
  /** Where to go on. */
  readonly next: bigint;
}

/** A record as kafkajs decodes it; its types leave fetch untyped. */
interface FetchedRecord {
  readonly offset: string;
  readonly timestamp: string;
  readonly value: Buffer | null;
  readonly isControlRecord?: boolean;
}
interface FetchResponse {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly partition: number;
      readonly messages: readonly FetchedRecord[];
    }[];
  }[];
}

export async function fetchRound(
  cluster: Cluster,
  topic: string,
  positions: ReadonlyMap<number, bigint>,
): Promise<FetchedPartition[]> {
  const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...positions.keys()]));
  const answers = await Promise.all(
    leaders.map(async ([nodeId, partitions]) => {
      const broker = await cluster.findBroker({ nodeId });
      try {
        return await fetchFrom(broker, topic, partitions, positions);
      } catch (error) {
        if (protocolName(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
        return restart(cluster, topic, partitions, positions);
      }
    }),
  );
  return answers.flat();
}

async function fetchFrom(
  broker: Broker,
  topic: string,
  partitions: readonly number[],
  positions: ReadonlyMap<number, bigint>,
): Promise<FetchedPartition[]> {
  const position = (partition: number): bigint => positions.get(partition) ?? 0n;
  // Untyped in kafkajs; this is what its decoder of the Fetch response gives.
  const response: FetchResponse = await broker.fetch({
    // Of nobody's transaction: an open one would hide what others append behind it, from reads and from ends() alike.
    isolationLevel: READ_UNCOMMITTED,
    maxWaitTime: WAIT_MS,
    minBytes: 1,
    maxBytes: LOG_PAGE_BYTES_MAX,
    topics: [
      {
        topic,
        partitions: partitions.map((partition) => ({
          partition,
          fetchOffset: position(partition).toString(),
          maxBytes: LOG_PAGE_BYTES_MAX,
        })),
      },
    ],
  });
  return response.responses
    .flatMap((each) => each.partitions)
    .map(({ partition, messages }) => fetched(partition, position(partition), messages));
}

/** A batch comes whole, also when reading starts in its midst; control records are not the reader's business. */
function fetched(partition: number, from: bigint, records: readonly FetchedRecord[]): FetchedPartition {
  const entries: LogEntry[] = [];
  let next = from;
  for (const { offset: text, timestamp, value, isControlRecord } of records) {
    const offset = BigInt(text);
    if (offset < from) continue;
    next = offset + 1n;
    if (isControlRecord === true) continue;
    entries.push({ partition, offset, value: value ?? Buffer.alloc(0), appendedAtMs: Number(timestamp) });
  }
  return { partition, entries, next };
}

/** The partitions among these whose position lies outside of the log, at their earliest offset. */
async function restart(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  positions: ReadonlyMap<number, bigint>,
): Promise<FetchedPartition[]> {
  const [first, last] = [
    await offsetsOf(cluster, topic, partitions, true),
    await offsetsOf(cluster, topic, partitions, false),
  ];
  return partitions.map((partition) => {
    const position = positions.get(partition) ?? 0n;
    const earliest = first.get(partition) ?? 0n;
    const inside = position >= earliest && position <= (last.get(partition) ?? 0n);
    return { partition, entries: [], next: inside ? position : earliest };
  });
}

/** The earliest offset of each partition, or the next one. */
export async function offsetsOf(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  fromBeginning: boolean,
): Promise<Map<number, bigint>> {
  const wanted = partitions.map((partition) => ({ partition }));
  const [answer] = await cluster.fetchTopicsOffset([{ topic, partitions: wanted, fromBeginning }]);
  return new Map((answer?.partitions ?? []).map(({ partition, offset }) => [partition, BigInt(offset)]));
}

/** The topic's partitions in order. */
export function partitionsOf(cluster: Cluster, topic: string): number[] {
  return cluster
    .findTopicPartitionMetadata(topic)
    .map(({ partitionId }) => partitionId)
    .sort((a, b) => a - b);
}
