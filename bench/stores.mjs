/**
 * The store that a bench runs on, opened in this process, and the settings with which a sidecar opens the same one.
 */
import { join } from 'node:path';
import { systemClock } from '../dist/cli/system-clock.js';

/** @returns {{store, keys, settings, close}} */
export async function openStore(name, folder, contactPoints, kekPath) {
  return name === 'cql' ? openCql(contactPoints, kekPath) : openLmdb(folder, kekPath);
}

async function openLmdb(folder, kekPath) {
  const { openEmbedded } = await import('../dist/embedded/open-embedded.js');
  const dataDir = join(folder, 'data');
  const { store, keys, close } = await openEmbedded(dataDir, systemClock);
  return { store, keys, close, settings: { store: 'embedded', 'data-dir': dataDir, 'kek-file': kekPath } };
}

async function openCql(given, kekPath) {
  const { connectCql } = await import('../dist/cql/session.js');
  const { applySchema } = await import('../dist/cql/schema-apply.js');
  const { openCqlStores } = await import('../dist/cql/open.js');
  const { startCassandra } = await import('../dist/provision/cassandra.js');
  const own =
    given === undefined ? await startCassandra({ onProgress: (text) => console.log(text) }) : undefined;
  try {
    const contactPoints = given ?? [own.contactPoint];
    const localDataCenter = own?.localDataCenter ?? 'datacenter1';
    const keyspace = `mailjoin_bench_${process.pid}`;
    const session = await connectCql({ contactPoints, localDataCenter });
    await applySchema(session, { keyspace, replication: { strategy: 'simple', factor: 1 } });
    await session.close();
    const { messages, keys } = await openCqlStores({
      contactPoints,
      localDataCenter,
      keyspace,
      clock: systemClock,
    });
    const close = async () => {
      await messages.close();
      await own?.stop();
    };
    const settings = {
      store: 'cql',
      'contact-points': contactPoints.join(','),
      'local-dc': localDataCenter,
      keyspace,
      'kek-file': kekPath,
    };
    return { store: messages, keys, close, settings };
  } catch (error) {
    await own?.stop();
    throw error;
  }
}
