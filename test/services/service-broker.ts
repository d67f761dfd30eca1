/**
 * Starts each real server at most once per test run, when the first test file asks for it, and stops them at the end.
 *
 * The broker lives in vitest's main process; test files live in processes of their own and ask it over HTTP:
 * GET /<service> answers when the server is ready, with its whereabouts or with the reason why there is none.
 * A run that selects no file with a real server starts none.
 */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MailjoinError } from '../../src/domain/errors.js';

export type Whereabouts =
  | { readonly contactPoint: string; readonly localDataCenter: string }
  /** Why there is none. broken: this machine has what it takes, so the start itself failed. */
  | { readonly skipped: string; readonly broken: boolean };

export interface RunningService {
  readonly contactPoint: string;
  readonly localDataCenter: string;
  stop(): Promise<void>;
}

export type ServiceStarters = Readonly<Record<string, () => Promise<RunningService>>>;

export class ServiceBroker {
  readonly #server: Server;
  readonly #starters: ServiceStarters;
  readonly #started = new Map<string, Promise<RunningService>>();

  private constructor(starters: ServiceStarters) {
    this.#starters = starters;
    this.#server = createServer((request, response) => {
      void this.#answer((request.url ?? '').slice(1), response);
    });
  }

  static async open(starters: ServiceStarters): Promise<ServiceBroker> {
    const broker = new ServiceBroker(starters);
    broker.#server.listen(0, '127.0.0.1');
    await once(broker.#server, 'listening');
    return broker;
  }

  /** Where test files ask. */
  get url(): string {
    // listen() was given a host and a port, so the address is not a pipe's.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many services were asked for, ready or not. */
  get startedCount(): number {
    return this.#started.size;
  }

  /** Stops what was started, also what is still starting. */
  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    const started = await Promise.allSettled(this.#started.values());
    await Promise.all(
      started.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.stop() : undefined)),
    );
  }

  async #answer(name: string, response: ServerResponse): Promise<void> {
    let answer: Whereabouts;
    try {
      const { contactPoint, localDataCenter } = await this.#service(name);
      answer = { contactPoint, localDataCenter };
    } catch (error) {
      const skipped = error instanceof Error ? error.message : String(error);
      answer = { skipped, broken: !(error instanceof MailjoinError && error.code === 'JAVA_MISSING') };
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  }

  /** A failed start is kept too: a second attempt in the same run would only cost its time again. */
  #service(name: string): Promise<RunningService> {
    const known = this.#started.get(name);
    if (known !== undefined) return known;
    const starter = this.#starters[name];
    if (starter === undefined) return Promise.reject(new Error(`no service is called ${name}`));
    const started = starter();
    this.#started.set(name, started);
    return started;
  }
}

/** Asks the broker of this run for a server; waits until it is ready, however long that takes (fetch would not). */
export async function askBroker(url: string, name: string): Promise<Whereabouts> {
  const [response] = (await once(get(`${url}/${name}`, { agent: false }), 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  // The broker above is the only one that answers here, and it sends exactly this type.
  return JSON.parse(text) as Whereabouts;
}
