/**
 * One user's connections to the cluster: made when first needed, thrown away whole after any failure (a new one then
 * learns the leaders anew). Users do not share a link: a broker answers one connection's requests in order, so that a
 * fetch that waits for records would hold up appends. One task at a time.
 */
import type { Cluster, Kafka } from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { newCluster } from './kafka-client.js';

export class ClusterLink {
  readonly #kafka: Kafka;
  readonly #topic: string;
  #cluster: Cluster | undefined;
  #closed = false;

  constructor(kafka: Kafka, topic: string) {
    this.#kafka = kafka;
    this.#topic = topic;
  }

  /**
   * Runs a task on a connected cluster that knows the topic's layout. Rejects with what the task or kafkajs threw, or
   * with LOG_UNAVAILABLE when the time is over; the connections are gone then.
   */
  async use<T>(timeoutMs: number, task: (cluster: Cluster) => Promise<T>): Promise<T> {
    if (this.#closed) throw new MailjoinError('LOG_UNAVAILABLE', 'the log is closed');
    let timer: NodeJS.Timeout | undefined;
    const timeUp = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new MailjoinError('LOG_UNAVAILABLE', `no answer in ${Math.round(timeoutMs)} ms`)),
        timeoutMs,
      );
    });
    const cluster = this.#cluster ?? newCluster(this.#kafka);
    this.#cluster = cluster;
    try {
      return await Promise.race([this.#run(cluster, task), timeUp]);
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the connections; the next use makes new ones. */
  drop(): void {
    const cluster = this.#cluster;
    this.#cluster = undefined;
    // A connection that is broken may refuse to be closed well; it is forgotten all the same.
    cluster?.disconnect().catch(() => {});
  }

  close(): void {
    this.#closed = true;
    this.drop();
  }

  async #run<T>(cluster: Cluster, task: (cluster: Cluster) => Promise<T>): Promise<T> {
    await cluster.connect();
    await cluster.addTargetTopic(this.#topic);
    await cluster.refreshMetadataIfNecessary();
    return task(cluster);
  }
}
