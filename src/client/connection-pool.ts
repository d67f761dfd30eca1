/**
 * A bounded set of connections and a bounded line of exchanges that wait for one, first come, first served.
 *
 * Invariant: nobody waits while a connection is idle or another may be opened. The most recently used connection is
 * used first, so that the others can age out at the sidecar's idle limit. A full line refuses at once (OVERLOADED).
 */
import { MailjoinError } from '../domain/errors.js';
import { CLIENT_WAITING_MAX } from '../domain/limits.js';
import { Connection, type ConnectionOwner, type Exchange } from './connection.js';

export class ConnectionPool implements ConnectionOwner {
  private readonly socketPath: string;
  private readonly connectionsMax: number;
  private readonly connections = new Set<Connection>();
  private readonly idleConnections: Connection[] = [];
  /** In the order of arrival; a Set, so that one which gives up leaves at once. */
  private readonly waiting = new Set<Exchange>();
  private isClosed = false;

  constructor(socketPath: string, connectionsMax: number) {
    this.socketPath = socketPath;
    this.connectionsMax = connectionsMax;
  }

  /** Sends an exchange, now or when a connection is free. Throws CLIENT_CLOSED or OVERLOADED. */
  start(exchange: Exchange): void {
    if (this.isClosed) throw new MailjoinError('CLIENT_CLOSED');
    const connection = this.idleConnections.pop();
    if (connection !== undefined) connection.serve(exchange);
    else if (this.connections.size < this.connectionsMax) this.open(exchange);
    else if (this.waiting.size < CLIENT_WAITING_MAX) this.waiting.add(exchange);
    else throw new MailjoinError('OVERLOADED', `${CLIENT_WAITING_MAX} requests of this client are waiting`);
  }

  /** Forgets an exchange; if it was being served, its connection goes with it (B39). */
  cancel(exchange: Exchange): void {
    if (!this.waiting.delete(exchange)) exchange.connection?.abandon();
  }

  /** Fails everything that is waiting or being served with CLIENT_CLOSED; resolves when every socket is gone. */
  async close(): Promise<void> {
    this.isClosed = true;
    const connections = [...this.connections];
    for (const exchange of this.waiting) exchange.fail(new MailjoinError('CLIENT_CLOSED'));
    this.waiting.clear();
    for (const connection of connections) connection.abandon(new MailjoinError('CLIENT_CLOSED'));
    await Promise.all(connections.map((connection) => connection.gone));
  }

  idle(connection: Connection): void {
    const next = this.takeWaiting();
    if (next === undefined) this.idleConnections.push(connection);
    else connection.serve(next);
  }

  closed(connection: Connection, resend: Exchange | undefined): void {
    this.connections.delete(connection);
    const at = this.idleConnections.indexOf(connection);
    if (at !== -1) this.idleConnections.splice(at, 1);
    if (this.isClosed) {
      resend?.fail(new MailjoinError('CLIENT_CLOSED'));
      return;
    }
    const next = resend ?? this.takeWaiting();
    if (next !== undefined) this.open(next);
  }

  private open(exchange: Exchange): void {
    this.connections.add(new Connection(this.socketPath, this, exchange));
  }

  private takeWaiting(): Exchange | undefined {
    for (const exchange of this.waiting) {
      this.waiting.delete(exchange);
      return exchange;
    }
    return undefined;
  }
}
