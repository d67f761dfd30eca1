/**
 * The HTTP server on its Unix socket: routes, the life of its socket file, and a clean stop (B29).
 *
 * Routes: POST /v1/join, /v1/history, /v1/message and /v1/lookup; GET and HEAD /healthz (the process lives), /readyz (it
 * can answer joins), /metrics.
 * A stop takes the socket file away, refuses what is new or still arriving with SHUTTING_DOWN, waits for the batches
 * in flight until a deadline, then closes every connection. Owner: the main thread.
 */
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp } from 'uWebSockets.js';
import { MailjoinError } from '../domain/errors.js';
import type { Clock } from '../domain/ports.js';
import type { Admission } from './admission.js';
import { type Answer, errorAnswer, sendAnswer } from './answer.js';
import { Exchange, type ExchangeContext } from './exchange.js';
import type { Log } from './log.js';
import { responseMediaType } from './media-type.js';
import type { Metrics } from './metrics.js';
import type { Readiness } from './readiness.js';
import {
  type DetailService,
  type HistoryService,
  historyRoute,
  type JoinService,
  joinRoute,
  type LookupService,
  lookupRoute,
  messageRoute,
  type Route,
} from './routes.js';
import { claimSocketFile, removeSocketFile, type SocketFile } from './socket-file.js';

/** How often slow readers are looked for. */
const SWEEP_MS = 1_000;

export interface ServerOptions {
  readonly socketPath: string;
  /** Permission bits of the socket file: who may connect, and so name any tenant. */
  readonly socketMode: number;
  readonly joiner: JoinService;
  /** Where history pages are served. */
  readonly history?: HistoryService | undefined;
  /** Where messages are shown in detail. */
  readonly details?: DetailService | undefined;
  /** Where message_ids may be looked up: for administration only (R2.2), so off unless it is given. */
  readonly lookups?: LookupService | undefined;
  readonly admission: Admission;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

export class Server {
  private readonly options: ServerOptions;
  private readonly app: TemplatedApp;
  private readonly context: ExchangeContext;
  private readonly exchanges = new Set<Exchange>();
  private stopping = false;
  private connectionCount = 0;
  private listenSocket: uWS.us_listen_socket | undefined;
  private file: SocketFile | undefined;
  private sweeper: NodeJS.Timeout | undefined;
  private whenIdle: (() => void) | undefined;

  constructor(options: ServerOptions) {
    this.options = options;
    const server = this;
    this.context = {
      admission: options.admission,
      metrics: options.metrics,
      clock: options.clock,
      log: options.log,
      get stopping() {
        return server.stopping;
      },
      ended: (exchange) => this.onEnded(exchange),
    };
    this.app = uWS.App();
    this.route();
  }

  /** Open connections, idle ones included. */
  get connections(): number {
    return this.connectionCount;
  }

  /** Requests of the posting routes that have begun and not ended. */
  get requestsInFlight(): number {
    return this.exchanges.size;
  }

  /** Takes the socket's place and listens. Throws SOCKET_PATH or SOCKET_IN_USE. */
  async start(): Promise<void> {
    const { socketPath, socketMode } = this.options;
    try {
      this.file = await claimSocketFile(socketPath, socketMode, (temporaryPath) =>
        this.listen(temporaryPath),
      );
    } catch (error) {
      this.stopListening();
      throw error;
    }
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    this.sweeper.unref();
  }

  /**
   * Stops: nothing new is taken, batches in flight are answered, then every connection is closed, at the latest
   * after `withinMs`. Resolves to the number of requests that were cut off by that deadline.
   */
  async stop(withinMs: number): Promise<number> {
    if (this.stopping) return 0;
    this.stopping = true;
    if (this.file !== undefined) removeSocketFile(this.file);
    // Connections that wait in the backlog are accepted first, so that their requests get an answer.
    await new Promise((resolve) => setImmediate(resolve));
    this.stopListening();
    for (const exchange of this.exchanges) {
      if (exchange.isReceiving) exchange.refuse(new MailjoinError('SHUTTING_DOWN'));
    }
    await this.idle(withinMs);
    const cutOff = this.exchanges.size;
    clearInterval(this.sweeper);
    this.app.close();
    return cutOff;
  }

  private listen(path: string): boolean {
    this.app.listen_unix((token: uWS.us_listen_socket | false) => {
      this.listenSocket = token === false ? undefined : token;
    }, path);
    return this.listenSocket !== undefined;
  }

  private stopListening(): void {
    if (this.listenSocket !== undefined) uWS.us_listen_socket_close(this.listenSocket);
    this.listenSocket = undefined;
  }

  private route(): void {
    const { joiner, history, details, lookups, metrics } = this.options;
    this.post('/v1/join', joinRoute(joiner, metrics));
    if (history !== undefined) this.post('/v1/history', historyRoute(history, metrics));
    if (details !== undefined) this.post('/v1/message', messageRoute(details, metrics));
    this.post('/v1/lookup', lookupRoute(lookups, metrics));
    this.page('/healthz', () => Promise.resolve({ status: 200, contentType: 'text/plain', body: 'ok\n' }));
    this.page('/readyz', () => this.readyPage());
    this.page('/metrics', async () => {
      const { contentType, text } = await this.options.metrics.page();
      return { status: 200, contentType, body: text };
    });
    this.app.any('/*', (res, req) => this.refuse(res, req, 'NOT_FOUND'));
    const countConnection = (_res: HttpResponse, change: number) => {
      this.connectionCount += change;
    };
    // The typings say Number, the object; the library passes +1 or -1.
    this.app.filter((res, change) => countConnection(res, Number(change)));
  }

  private post(path: string, route: Route): void {
    this.app.post(path, (res, req) => {
      const exchange = new Exchange(this.context, route, res);
      this.exchanges.add(exchange);
      exchange.begin(req);
    });
    this.app.any(path, (res, req) => this.refuse(res, req, 'METHOD', 'POST'));
  }

  private page(path: string, make: () => Promise<Answer>): void {
    const handle = (res: HttpResponse, withoutBody: boolean) => {
      let aborted = false;
      res.onAborted(() => {
        aborted = true;
      });
      make().then(
        (answer) => {
          if (!aborted) sendAnswer(res, { ...answer, withoutBody, close: this.stopping });
        },
        (error: unknown) => {
          const internal = new MailjoinError('INTERNAL', path, { cause: error });
          this.options.log.write('error', 'page_failed', { path });
          if (!aborted) sendAnswer(res, { ...errorAnswer(internal, 'application/json', true), withoutBody });
        },
      );
    };
    this.app.get(path, (res) => handle(res, false));
    this.app.head(path, (res) => handle(res, true));
    this.app.any(path, (res, req) => this.refuse(res, req, 'METHOD', 'GET, HEAD'));
  }

  private async readyPage(): Promise<Answer> {
    const state = this.stopping
      ? { ready: false, failures: ['stopping'] }
      : await this.options.readiness.current();
    return {
      status: state.ready ? 200 : 503,
      contentType: 'application/json',
      body: `${JSON.stringify(state)}\n`,
    };
  }

  private refuse(res: HttpResponse, req: HttpRequest, code: 'NOT_FOUND' | 'METHOD', allow?: string): void {
    const media = responseMediaType(req.getHeader('accept'), undefined);
    const answer = errorAnswer(new MailjoinError(code), media, false);
    sendAnswer(res, {
      ...answer,
      headers: allow === undefined ? [] : [['Allow', allow]],
      withoutBody: req.getMethod() === 'head',
    });
  }

  private onEnded(exchange: Exchange): void {
    this.exchanges.delete(exchange);
    if (this.exchanges.size === 0) this.whenIdle?.();
  }

  private sweep(): void {
    const nowMs = this.options.clock.nowMs();
    for (const exchange of this.exchanges) exchange.dropIfSlow(nowMs);
  }

  /** Resolves when no request is in flight, or after `withinMs`. */
  private idle(withinMs: number): Promise<void> {
    if (this.exchanges.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
