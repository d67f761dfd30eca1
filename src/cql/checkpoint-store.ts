/**
 * Small named values that survive a restart. Plain writes: of two writers the one with the later clock stays. A save
 * that loses to a clock ahead of its own leaves an older checkpoint, from which work is only repeated.
 * Fails with STORE_UNAVAILABLE or STORE_REFUSED.
 */
import type { CheckpointStore } from '../domain/write-ports.js';
import { quotedKeyspace } from './options.js';
import type { CqlSession } from './session.js';
import type { CqlStatement } from './statement.js';

const TABLE = 'mailjoin_checkpoint';

export class CqlCheckpointStore implements CheckpointStore {
  readonly #session: CqlSession;
  readonly #load: CqlStatement;
  readonly #save: CqlStatement;

  constructor(session: CqlSession, keyspaceName: string) {
    const table = `${quotedKeyspace(keyspaceName)}.${TABLE}`;
    this.#session = session;
    this.#load = {
      cql: `SELECT value FROM ${table} WHERE name = ?`,
      table: TABLE,
      shape: 'select',
      access: 'read',
    };
    this.#save = {
      cql: `INSERT INTO ${table} (name, value) VALUES (?, ?)`,
      table: TABLE,
      shape: 'insert',
      access: 'write',
    };
  }

  async loadCheckpoint(name: string): Promise<string | undefined> {
    const { rows } = await this.#session.execute(this.#load, [name]);
    const value = rows[0]?.value;
    return typeof value === 'string' ? value : undefined;
  }

  async saveCheckpoint(name: string, value: string): Promise<void> {
    await this.#session.execute(this.#save, [name, value]);
  }
}
