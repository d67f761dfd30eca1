/** Asks the server what a read scanned: live rows and tombstone cells, from the query's trace, which is exact. */
import { Client } from 'cassandra-driver';
import type { ServerUnderTest } from '../services/describe-with-service.js';

const SCANNED = /^Read (\d+) live rows and (\d+) tombstone cells/;

export class ReadTracer {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open({ contactPoint, localDataCenter }: ServerUnderTest): Promise<ReadTracer> {
    const encoding = { useBigIntAsLong: true };
    const client = new Client({ contactPoints: [contactPoint], localDataCenter, encoding });
    await client.connect();
    return new ReadTracer(client);
  }

  /** [live rows, tombstone cells] of one SELECT. */
  async scanned(cql: string, values: readonly unknown[]): Promise<[number, number]> {
    const { info } = await this.#client.execute(cql, [...values], { prepare: true, traceQuery: true });
    const { events } = await this.#client.metadata.getTrace(info.traceId);
    const activities: string[] = events.map(({ activity: text }) => String(text));
    const read = activities.map((text) => SCANNED.exec(text)).find((match) => match !== null);
    if (read === null || read === undefined) throw new Error(`no such event in ${activities.join('; ')}`);
    return [Number(read[1]), Number(read[2])];
  }

  async close(): Promise<void> {
    await this.#client.shutdown();
  }
}
