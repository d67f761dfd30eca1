/**
 * How far a group's member is behind: the ends of its partitions minus the group's committed offsets, asked of the
 * brokers every LAG_MS, so that it is told also when nothing comes. Has connections of its own. A question that fails is
 * not answered; the next one may be. Before the member has joined nothing is told: what it will be behind is not known,
 * and it is not nothing.
 */
import type { Cluster, Kafka } from 'kafkajs';
import { ClusterLink } from './cluster-link.js';
import { offsetsOf } from './fetch-round.js';

const LAG_MS = 2_000;

export interface GroupLagOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly group: string;
  readonly timeoutMs: number;
  readonly onLag: (lag: bigint | undefined) => void;
}

export class GroupLag {
  readonly #link: ClusterLink;
  readonly #options: GroupLagOptions;
  readonly #timer: NodeJS.Timeout;
  #partitions: readonly number[] | undefined;
  #asking = false;
  #stopped = false;

  constructor(options: GroupLagOptions) {
    this.#options = options;
    this.#link = new ClusterLink(options.kafka, options.topic);
    this.#timer = setInterval(() => this.#ask(), LAG_MS);
  }

  /** The member's partitions, after it joined. */
  watch(partitions: readonly number[]): void {
    this.#partitions = partitions;
    this.#ask();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#link.close();
  }

  #ask(): void {
    const partitions = this.#partitions;
    if (this.#asking || this.#stopped || partitions === undefined) return;
    this.#asking = true;
    this.#link
      .use(this.#options.timeoutMs, (cluster) => this.#lag(cluster, partitions))
      .then(
        (lag) => {
          if (!this.#stopped) this.#options.onLag(lag);
        },
        () => {
          if (!this.#stopped) this.#options.onLag(undefined);
        },
      )
      .finally(() => {
        this.#asking = false;
      });
  }

  async #lag(cluster: Cluster, partitions: readonly number[]): Promise<bigint> {
    const { topic, group } = this.#options;
    if (partitions.length === 0) return 0n;
    const ends = await offsetsOf(cluster, topic, partitions, false);
    const starts = await offsetsOf(cluster, topic, partitions, true);
    const coordinator = await cluster.findGroupCoordinator({ groupId: group });
    // The request needs partitions alone; kafkajs' type asks for an offset with each, which is not sent.
    const wanted = partitions.map((partition) => ({ partition, offset: '' }));
    const { responses } = await coordinator.offsetFetch({
      groupId: group,
      topics: [{ topic, partitions: wanted }],
    });
    let lag = 0n;
    for (const { partition, offset } of responses.flatMap((each) => each.partitions)) {
      const start = starts.get(partition) ?? 0n;
      const committed = BigInt(offset);
      lag += (ends.get(partition) ?? start) - (committed < start ? start : committed);
    }
    return lag;
  }
}
