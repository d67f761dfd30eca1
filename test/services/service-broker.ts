/**
 * Starts each real server at most once per test run, when the first test file asks for it, and stops them at the end.
 *
 * The broker lives in vitest's main process; test files live in processes of their own and ask it over a Unix socket:
 * GET /<service> answers when the server is ready, with its whereabouts or with the reason why there is none.
 * A run that selects no file with a real server starts none.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  readonly socketPath: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly #starters: ServiceStarters;
  readonly #started = new Map<string, Promise<RunningService>>();

  private constructor(folder: string, starters: ServiceStarters) {
    this.#folder = folder;
    this.#starters = starters;
    this.socketPath = join(folder, 'broker.sock');
    this.#server = createServer((request, response) => {
      void this.#answer((request.url ?? '').slice(1), response);
    });
  }

  static async open(starters: ServiceStarters): Promise<ServiceBroker> {
    const broker = new ServiceBroker(await mkdtemp(join(tmpdir(), 'mailjoin-test-')), starters);
    await new Promise<void>((resolve, reject) => {
      broker.#server.once('error', reject);
      broker.#server.listen(broker.socketPath, resolve);
    });
    return broker;
  }

  /** Stops what was started, also what is still starting. */
  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    const started = await Promise.allSettled(this.#started.values());
    await Promise.all(
      started.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.stop() : undefined)),
    );
    await rm(this.#folder, { recursive: true, force: true });
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

/** Asks the broker of this run for a server; waits until it is ready. */
export function askBroker(socketPath: string, name: string): Promise<Whereabouts> {
  return new Promise((resolve, reject) => {
    const request = get({ socketPath, path: `/${name}`, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      // The broker above is the only one that answers here, and it sends exactly this type.
      response.on('end', () => resolve(JSON.parse(text) as Whereabouts));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}
