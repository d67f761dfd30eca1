/**
 * The idempotent producer: one request in flight, carrying all that wait (R5.1 step 4, group commit).
 *
 * Records of one key go to one partition, in call order: murmur2 as every Kafka client has it, so others that write the
 * topic agree. Each partition's batch keeps its sequence number until it is answered, however often it is sent, so a
 * repeat whose first answer was lost is told by the broker and not stored twice. When the outcome stays unknown to the
 * end (LOG_UNAVAILABLE), the producer takes a new id: a sequence number that may have been used is never used again, or
 * the broker would take the next record for a repeat of the last and drop it.
 *
 *     waiting → group → { partition → batch } → answered: resolved | too large: alone | else: again until the deadline
 *
 * Bounds: LOG_WAITING_RECORDS_MAX and LOG_WAITING_BYTES_MAX waiting (→ LOG_UNAVAILABLE at once), LOG_REQUEST_BYTES_MAX a
 * request; an append waits at most twice the timeout.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Broker, Cluster, Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { LOG_REQUEST_BYTES_MAX, LOG_WAITING_BYTES_MAX, LOG_WAITING_RECORDS_MAX } from '../domain/limits.js';
import type { Clock } from '../domain/ports.js';
import type { LogAppend, LogPosition } from '../domain/write-ports.js';
import { ClusterLink } from './cluster-link.js';
import { asLogError, produceFailure } from './kafka-errors.js';
import { partitionOf } from './partition-of.js';

/** What a record takes in a request beside its key and value, at most. */
const RECORD_OVERHEAD_BYTES = 64;
const BACKOFF_MS_MIN = 20;
const BACKOFF_MS_MAX = 1_000;
/** Sequence numbers are 31 bits and begin anew after that. */
const SEQUENCE_COUNT = 2 ** 31;

interface Waiting {
  readonly record: LogAppend;
  readonly bytes: number;
  readonly deadlineMs: number;
  readonly timestamp: string;
  readonly resolve: (place: LogPosition) => void;
  readonly reject: (reason: MailjoinError) => void;
}

interface Identity {
  readonly id: string;
  readonly epoch: number;
  /** Partition → sequence number of its next record. */
  readonly sequences: Map<number, number>;
}

/** The parts of kafkajs' broker that its types leave out or leave untyped. */
interface ProducingBroker {
  initProducerId(request: { transactionTimeout: number }): Promise<{
    readonly producerId: string;
    readonly producerEpoch: number;
  }>;
  produce(request: {
    readonly acks: number;
    readonly timeout: number;
    readonly producerId: string;
    readonly producerEpoch: number;
    readonly topicData: readonly {
      readonly topic: string;
      readonly partitions: readonly {
        readonly partition: number;
        readonly firstSequence: number;
        readonly messages: readonly { key: Buffer; value: Buffer; timestamp: string }[];
      }[];
    }[];
  }): Promise<{
    readonly topics: readonly {
      readonly partitions: readonly { readonly partition: number; readonly baseOffset: string }[];
    }[];
  }>;
}

/** One group on its way. */
interface Group {
  /** Partition → its records that are not answered yet, in order. */
  readonly batches: Map<number, Waiting[]>;
  /** Several partitions in one request fail as one: after a refusal each is sent by itself. */
  separately: boolean;
  /** Partitions whose batch was refused as too large: one record at a time. */
  readonly singly: Set<number>;
}

export class GroupCommit {
  readonly #link: ClusterLink;
  readonly #topic: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #identity: Identity | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(kafka: Kafka, topic: string, timeoutMs: number, clock: Clock) {
    this.#link = new ClusterLink(kafka, topic);
    this.#topic = topic;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  append(record: LogAppend): Promise<LogPosition> {
    const bytes = record.key.length + record.value.length + RECORD_OVERHEAD_BYTES;
    if (this.#closed) return Promise.reject(new MailjoinError('LOG_UNAVAILABLE', 'the log is closed'));
    if (
      this.#waiting.length >= LOG_WAITING_RECORDS_MAX ||
      this.#waitingBytes + bytes > LOG_WAITING_BYTES_MAX
    ) {
      return Promise.reject(new MailjoinError('LOG_UNAVAILABLE', 'too many records are waiting'));
    }
    this.#waitingBytes += bytes;
    return new Promise((resolve, reject) => {
      const deadlineMs = this.#clock.nowMs() + this.#timeoutMs;
      const timestamp = String(this.#clock.epochMs());
      this.#waiting.push({ record, bytes, deadlineMs, timestamp, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Waits for what was appended before, as long as that may take, then closes. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    this.#link.close();
  }

  async #run(): Promise<void> {
    // What is appended in this tick goes together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      await this.#send(group);
      for (const { bytes } of group) this.#waitingBytes -= bytes;
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const each of this.#waiting) {
      bytes += each.bytes;
      if (count > 0 && bytes > LOG_REQUEST_BYTES_MAX) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  /** Settles every record of a group. */
  async #send(records: readonly Waiting[]): Promise<void> {
    const deadlineMs = Math.max(...records.map((each) => each.deadlineMs));
    let group: Group | undefined;
    let failure: unknown;
    let backoffMs = BACKOFF_MS_MIN;
    while (group === undefined || group.batches.size > 0) {
      const remainingMs = deadlineMs - this.#clock.nowMs();
      if (remainingMs <= 0) break;
      try {
        await this.#link.use(remainingMs, async (cluster) => {
          group ??= this.#partitioned(cluster, records);
          await this.#produce(cluster, group, remainingMs);
        });
        backoffMs = BACKOFF_MS_MIN;
      } catch (error) {
        failure = error;
        const kind = produceFailure(error);
        if (kind === 'identity') this.#identity = undefined;
        if (kind === 'too-large' && group !== undefined) refuse(group, error);
        else {
          await delay(backoffMs);
          backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
        }
      }
    }
    const left = group === undefined ? records : [...group.batches.values()].flat();
    if (left.length === 0) return;
    this.#identity = undefined;
    const reason = asLogError(failure ?? new Error('no time was left'), 'a record was not taken in time');
    for (const each of left) each.reject(reason);
  }

  #partitioned(cluster: Cluster, records: readonly Waiting[]): Group {
    const count = cluster.findTopicPartitionMetadata(this.#topic).length;
    if (count === 0) throw new MailjoinError('LOG_UNAVAILABLE', 'the topic has no partitions');
    const batches = new Map<number, Waiting[]>();
    for (const each of records) {
      const partition = partitionOf(each.record.key, count);
      const batch = batches.get(partition);
      if (batch === undefined) batches.set(partition, [each]);
      else batch.push(each);
    }
    return { batches, separately: false, singly: new Set() };
  }

  /** One request to each leader of the group's partitions, or one for one partition when sent separately. */
  async #produce(cluster: Cluster, group: Group, timeoutMs: number): Promise<void> {
    this.#identity ??= await newIdentity(cluster);
    const identity = this.#identity;
    const partitions = [...group.batches.keys()].slice(0, group.separately ? 1 : undefined);
    const leaders = Object.entries(cluster.findLeaderForPartitions(this.#topic, partitions));
    const outcomes = await Promise.allSettled(
      leaders.map(async ([nodeId, ofLeader]) => {
        const broker = producing(await cluster.findBroker({ nodeId }));
        await this.#produceTo(broker, identity, group, ofLeader, timeoutMs);
      }),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #produceTo(
    broker: ProducingBroker,
    identity: Identity,
    group: Group,
    partitions: readonly number[],
    timeoutMs: number,
  ): Promise<void> {
    const sent = new Map<number, readonly Waiting[]>();
    for (const partition of partitions) {
      const batch = group.batches.get(partition) ?? [];
      sent.set(partition, batch.slice(0, group.singly.has(partition) ? 1 : undefined));
    }
    const response = await broker.produce({
      acks: -1,
      timeout: Math.ceil(timeoutMs),
      producerId: identity.id,
      producerEpoch: identity.epoch,
      topicData: [
        {
          topic: this.#topic,
          partitions: [...sent].map(([partition, batch]) => ({
            partition,
            firstSequence: identity.sequences.get(partition) ?? 0,
            messages: batch.map(({ record, timestamp }) => ({
              key: bufferOf(record.key),
              value: bufferOf(record.value),
              timestamp,
            })),
          })),
        },
      ],
    });
    for (const { partition, baseOffset } of response.topics.flatMap((topic) => topic.partitions)) {
      const batch = sent.get(partition) ?? [];
      const sequence = identity.sequences.get(partition) ?? 0;
      identity.sequences.set(partition, (sequence + batch.length) % SEQUENCE_COUNT);
      removeFirst(group, partition, batch.length);
      const base = BigInt(baseOffset);
      for (const [index, { resolve }] of batch.entries())
        resolve({ partition, offset: base + BigInt(index) });
    }
  }
}

/**
 * The broker took a batch for too large though every record is within the bound: the topic's bound is another. First
 * its partition is found, then its record, which is refused alone (B50).
 */
function refuse(group: Group, cause: unknown): void {
  const [first] = group.batches;
  if (first === undefined) return;
  const [partition, batch] = first;
  if (!group.separately) group.separately = true;
  else if (batch.length > 1 && !group.singly.has(partition)) group.singly.add(partition);
  else {
    const detail = 'the broker refused it';
    batch[0]?.reject(new MailjoinError('RECORD_TOO_LARGE', detail, { cause }));
    removeFirst(group, partition, 1);
  }
}

function removeFirst(group: Group, partition: number, count: number): void {
  const batch = group.batches.get(partition);
  batch?.splice(0, count);
  if (batch?.length === 0) group.batches.delete(partition);
}

/** Any broker hands out producer ids when there is no transaction. */
async function newIdentity(cluster: Cluster): Promise<Identity> {
  const [nodeId] = cluster.getNodeIds();
  const broker = producing(await cluster.findBroker({ nodeId: String(nodeId) }));
  const { producerId, producerEpoch } = await broker.initProducerId({ transactionTimeout: 1_000 });
  return { id: producerId, epoch: producerEpoch, sequences: new Map() };
}

/** kafkajs' own class has these methods; its types leave one out and the other's result untyped. */
function producing(broker: Broker): ProducingBroker {
  return broker as unknown as ProducingBroker;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
