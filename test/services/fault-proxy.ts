/**
 * Stands between a driver and a Cassandra and breaks what a test asks for, when it asks for it.
 *
 * Faults on statements (chosen by their text) have handshakes: a test waits until a request has *reached* its fault,
 * acts, and then lets the reply go; no sleeps. Faults on connections (cut, freeze, refuse) work at once on all of them.
 * Statements must be prepared through the proxy to be known by their text. One node only: a driver would reach the
 * other nodes of a cluster past the proxy. Owner: the test that opened it; close() cuts what is left.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type CqlRequest, errorReply, FrameSplitter, Opcode, PreparedTexts } from './cql-frames.js';

export type Matches = (request: CqlRequest) => boolean;

/** Chooses requests that run a statement (EXECUTE, QUERY or BATCH, not its PREPARE) whose text contains this. */
export function running(text: string): Matches {
  return ({ opcode, query }) => opcode !== Opcode.PREPARE && query.includes(text);
}

/** A fault that waits for requests. The first one that fits decides; an ended or used-up one is passed over. */
export interface Fault {
  /** Requests that reached it so far. */
  readonly count: number;
  /** Resolves when that many have. */
  reached(count: number): Promise<void>;
  /** Lets later requests pass. */
  end(): void;
}

export interface HeldReplies extends Fault {
  /** Resolves when the server has answered that many of the requests; none of the answers has gone on. */
  answered(count: number): Promise<void>;
  /** Sends the held replies on, in their order, and ends the fault. */
  release(): void;
}

type Action =
  | { readonly kind: 'watch' | 'hold' | 'swallow' }
  | { readonly kind: 'error'; readonly body: Buffer };

/** A number that only grows, and promises for when it is reached. */
class Counter {
  value = 0;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  add(): void {
    this.value++;
    for (const waiter of this.#waiting.splice(0)) {
      if (this.value >= waiter.count) waiter.resolve();
      else this.#waiting.push(waiter);
    }
  }

  reached(count: number): Promise<void> {
    if (this.value >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }
}

class Rule implements HeldReplies {
  readonly matches: Matches;
  readonly action: Action;
  readonly #requests = new Counter();
  readonly #replies = new Counter();
  readonly #held: (() => void)[] = [];
  #timesLeft: number;
  #released = false;

  constructor(matches: Matches, action: Action, times: number) {
    this.matches = matches;
    this.action = action;
    this.#timesLeft = times;
  }

  get count(): number {
    return this.#requests.value;
  }

  reached(count: number): Promise<void> {
    return this.#requests.reached(count);
  }

  answered(count: number): Promise<void> {
    return this.#replies.reached(count);
  }

  end(): void {
    this.#timesLeft = 0;
  }

  release(): void {
    this.end();
    this.#released = true;
    for (const send of this.#held.splice(0)) send();
  }

  takes(request: CqlRequest): boolean {
    if (this.#timesLeft === 0 || !this.matches(request)) return false;
    this.#timesLeft--;
    this.#requests.add();
    return true;
  }

  hold(send: () => void): void {
    if (this.#released) send();
    else this.#held.push(send);
    this.#replies.add();
  }
}

/** A request whose reply has not come yet. */
interface Pending {
  readonly request: CqlRequest;
  readonly holder: Rule | undefined;
}

export class FaultProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #texts = new PreparedTexts();
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #rules: Rule[] = [];
  #server: Server | undefined;
  #port = 0;
  #connections = 0;
  #frozen = false;
  #delayMs = 0;

  private constructor(target: string) {
    const [host, port] = target.split(':') as [string, string];
    this.#target = { host, port: Number(port) };
  }

  /** A proxy for the server at host:port, without faults. */
  static async open(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await proxy.accept();
    return proxy;
  }

  /** host:port for the driver. */
  get contactPoint(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Connections open now. */
  get openConnections(): number {
    return this.#pairs.size;
  }

  /** Counts requests and changes nothing. */
  watch(matches: Matches): Fault {
    return this.#add(matches, { kind: 'watch' }, Number.POSITIVE_INFINITY);
  }

  /** Lets requests through and keeps their replies until release(). */
  hold(matches: Matches, times = Number.POSITIVE_INFINITY): HeldReplies {
    return this.#add(matches, { kind: 'hold' }, times);
  }

  /** Answers requests with an error of the server (ServerError), which never sees them. */
  fail(matches: Matches, errorBody: Buffer, times = Number.POSITIVE_INFINITY): Fault {
    return this.#add(matches, { kind: 'error', body: errorBody }, times);
  }

  /** Requests vanish: neither the server nor an answer is ever heard of. */
  swallow(matches: Matches, times = Number.POSITIVE_INFINITY): Fault {
    return this.#add(matches, { kind: 'swallow' }, times);
  }

  /** Ends every fault on statements; held replies go on. */
  clear(): void {
    for (const rule of this.#rules) rule.release();
    this.#rules = [];
  }

  /** Every later reply comes this much later, in order. */
  delayReplies(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Resets every connection; new ones are taken. Returns how many there were. */
  cut(): number {
    const count = this.#pairs.size;
    for (const [client, upstream] of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
    this.#pairs.clear();
    return count;
  }

  /** A black hole: connections stay open and new ones are taken, but no byte passes in either direction. */
  freeze(): void {
    this.#frozen = true;
    for (const socket of [...this.#pairs].flat()) socket.pause();
  }

  /** What was frozen goes on where it stood. */
  thaw(): void {
    this.#frozen = false;
    for (const socket of [...this.#pairs].flat()) socket.resume();
  }

  /** Refuses new connections; open ones stay. */
  refuse(): void {
    // It stops listening at once, and is closed when the last connection has ended.
    this.#server?.close();
    this.#server = undefined;
  }

  /** Takes connections (again), on the same port. */
  async accept(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((client) => this.#join(client));
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    // listen() was given a host and a port, so the address is not a pipe's.
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Ends every connection and stops listening. */
  close(): void {
    this.refuse();
    this.cut();
  }

  #add(matches: Matches, action: Action, times: number): Rule {
    const rule = new Rule(matches, action, times);
    this.#rules.push(rule);
    return rule;
  }

  #join(client: Socket): void {
    const upstream = connect(this.#target);
    const connection = ++this.#connections;
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    const pending = new Map<number, Pending>();
    const requests = new FrameSplitter();
    const replies = new FrameSplitter();
    client.on('data', (chunk: Buffer) => {
      for (const frame of requests.push(chunk)) this.#request(frame, connection, pending, client, upstream);
    });
    upstream.on('data', (chunk: Buffer) => {
      for (const frame of replies.push(chunk)) this.#reply(frame, pending, client);
    });
    for (const [socket, other] of [pair, [upstream, client] as const]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
      if (this.#frozen) socket.pause();
    }
  }

  #request(
    frame: Buffer,
    connection: number,
    pending: Map<number, Pending>,
    client: Socket,
    upstream: Socket,
  ): void {
    const request = this.#texts.request(frame, connection);
    let holder: Rule | undefined;
    for (const rule of this.#rules) {
      if (!rule.takes(request)) continue;
      if (rule.action.kind === 'watch') continue;
      if (rule.action.kind === 'swallow') return;
      if (rule.action.kind === 'error') {
        this.#send(client, errorReply(frame, rule.action.body));
        return;
      }
      holder = rule;
      break;
    }
    pending.set(request.stream, { request, holder });
    upstream.write(frame);
  }

  #reply(frame: Buffer, pending: Map<number, Pending>, client: Socket): void {
    const stream = frame.readInt16BE(2);
    const asked = pending.get(stream);
    pending.delete(stream);
    if (asked?.request.opcode === Opcode.PREPARE) this.#texts.learn(frame, asked.request.query);
    if (asked?.holder === undefined) this.#send(client, frame);
    else asked.holder.hold(() => this.#send(client, frame));
  }

  #send(client: Socket, frame: Buffer): void {
    const write = () => {
      if (!client.destroyed) client.write(frame);
    };
    if (this.#delayMs === 0) write();
    else setTimeout(write, this.#delayMs);
  }
}
