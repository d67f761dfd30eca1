/** Temporary directories and a clock that tests set. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/domain/ports.js';
import { type OpenedEmbedded, openEmbedded } from '../../src/embedded/open-embedded.js';

/** A clock whose hands the test moves. */
export class SetClock implements Clock {
  ms = 1_750_000_000_000;
  nowMs(): number {
    return this.ms;
  }
  epochMs(): number {
    return this.ms;
  }
}

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'mailjoin-embedded-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a store that the end of the test closes. */
export async function openFor(directory: string, clock: Clock): Promise<OpenedEmbedded> {
  const opened = await openEmbedded(directory, clock);
  onTestFinished(() => opened.close());
  return opened;
}

/** Changes the raw file beneath a store: one table, by key and value. */
export async function withRawTable<T>(
  directory: string,
  table: string,
  change: (raw: {
    get(key: Buffer): Buffer | undefined;
    put(key: Buffer, value: Buffer): void;
    count(): number;
  }) => T,
): Promise<T> {
  const options = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Buffer>({
    ...options,
    path: join(directory, 'mailjoin.lmdb'),
    noSubdir: true,
    mapSize: 64 * 1024 ** 3,
    maxDbs: 16,
    overlappingSync: false,
  });
  try {
    const db = root.openDB<Buffer, Buffer>(table, options);
    return root.transactionSync(() =>
      change({
        get: (key) => db.get(key),
        put: (key, value) => void db.put(key, value),
        count: () => db.getCount(),
      }),
    );
  } finally {
    await root.close();
  }
}
