/**
 * Where a demo runs: a temporary folder for socket, key file and embedded store; with `--store cql` a keyspace of its
 * own on the cluster that the settings name, or on a Cassandra that the demo starts itself; a log in the folder, or on
 * the brokers that the settings name. All of it is gone after close(), also when the demo failed.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { applySchema } from '../cql/schema-apply.js';
import { parseReplication } from '../cql/schema-statements.js';
import { type CqlSession, connectCql } from '../cql/session.js';
import { createKekFile } from '../crypto/kek-file.js';
import { MailjoinError } from '../domain/errors.js';
import { deleteTopic, ensureTopic } from '../kafka/ensure-topic.js';
import { startCassandra } from '../provision/cassandra.js';
import { Closers } from './closers.js';
import type { Settings } from './settings.js';
import { cqlConnectOptions } from './stores.js';
import { brokersReached } from './tls-settings.js';

/** A Cassandra that has just started on a busy machine is slow at first. */
const STORE_TIMEOUT_MS_MIN = 20_000;
const DEMO_PARTITIONS = 3;

export interface DemoPlace {
  /** The sidecar's settings. */
  readonly settings: Settings;
  /** For people: where the log lies. */
  readonly logPlace: string;
  close(): Promise<void>;
}

/** Fails with JAVA_MISSING, SERVICE_START, STORE_* or whatever the cluster answers; nothing is left then. */
export async function openDemoPlace(settings: Settings, print: (line: string) => void): Promise<DemoPlace> {
  const closers = new Closers();
  try {
    const folder = temporaryFolder();
    closers.add(() => fs.rmSync(folder, { recursive: true, force: true }));
    const kekFile = path.join(folder, 'kek');
    await createKekFile(kekFile);
    const own: Settings = {
      ...settings,
      socket: path.join(folder, 'join.sock'),
      dataDir: path.join(folder, 'data'),
      kekFile,
    };
    const placed = own.store === 'cql' ? await openKeyspace(own, print, closers) : own;
    const { log, logPlace } = await openDemoLog(placed, closers);
    return { settings: { ...placed, ...log }, logPlace, close: () => closers.closeAll() };
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}

function temporaryFolder(): string {
  try {
    return fs.mkdtempSync(path.join(os.tmpdir(), 'mailjoin-demo-'));
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : 'failed';
    throw new MailjoinError('CONFIG_INVALID', `TMPDIR (${os.tmpdir()}): no folder can be made: ${code}`, {
      cause,
    });
  }
}

/** A topic of its own where brokers are named, else the embedded log in the folder, also beside a real Cassandra. */
async function openDemoLog(
  settings: Settings,
  closers: Closers,
): Promise<{ readonly log: Partial<Settings>; readonly logPlace: string }> {
  if (settings.brokers === undefined)
    return { log: { log: 'embedded' }, logPlace: 'in the temporary folder' };
  const reached = brokersReached(settings);
  const topic = `mailjoin-demo-${Date.now().toString(36)}`;
  await ensureTopic({ ...reached, topic, partitions: DEMO_PARTITIONS, replicationFactor: 1 });
  closers.add(() => deleteTopic({ ...reached, topic }));
  return { log: { log: 'kafka', topic }, logPlace: `in the topic ${topic} on ${reached.brokers.join(', ')}` };
}

async function openKeyspace(
  settings: Settings,
  print: (line: string) => void,
  closers: Closers,
): Promise<Settings> {
  const reached = settings.contactPoints === undefined ? await startOwn(settings, print, closers) : settings;
  const keyspace = `mailjoin_demo_${Date.now().toString(36)}`;
  const session = await connectCql(cqlConnectOptions(reached));
  closers.add(() => session.close());
  closers.add(() => drop(session, keyspace));
  await applySchema(session, { keyspace, replication: parseReplication(reached.replication) });
  return { ...reached, keyspace };
}

async function startOwn(
  settings: Settings,
  print: (line: string) => void,
  closers: Closers,
): Promise<Settings> {
  print('No --contact-points given: starting a Cassandra for the time of this demo.');
  const cassandra = await startCassandra({ onProgress: (text) => print(`  ${text}`) }).catch(
    (error: unknown) => {
      if (!(error instanceof MailjoinError) || error.code !== 'JAVA_MISSING') throw error;
      throw new MailjoinError('JAVA_MISSING', `${error.message}; name a running one with --contact-points`, {
        cause: error,
      });
    },
  );
  closers.add(() => cassandra.stop());
  return {
    ...settings,
    contactPoints: [cassandra.contactPoint],
    localDc: cassandra.localDataCenter,
    storeTimeoutMs: Math.max(settings.storeTimeoutMs, STORE_TIMEOUT_MS_MIN),
  };
}

async function drop(session: CqlSession, keyspace: string): Promise<void> {
  const statement = {
    cql: `DROP KEYSPACE IF EXISTS ${keyspace}`,
    table: keyspace,
    shape: 'ddl',
    access: 'ddl',
  } as const;
  await session.execute(statement, []);
}
