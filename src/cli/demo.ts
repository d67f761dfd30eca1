/**
 * The demo: a data set is written, joined through a real sidecar over its socket, and every body is compared with what
 * was stored; then a message is committed, edited, reacted to, recalled and erased before the reader's eyes. Exit code 1
 * when anything differs, or a backlog cost more reads than S-1 allows.
 */
import { MailjoinClient } from '../client/index.js';
import { KeyAdmin } from '../crypto/key-admin.js';
import { LocalKeyProvider } from '../crypto/local-key-provider.js';
import { sealPayload } from '../crypto/payload.js';
import { MailjoinError } from '../domain/errors.js';
import { UNWRAP_BATCH_MAX } from '../domain/limits.js';
import { type DekId, dekKey } from '../domain/message.js';
import type { Log } from '../server/log.js';
import { Closers } from './closers.js';
import { ExitCode } from './command.js';
import { startSidecar } from './compose.js';
import { DEMO_SEED_DEFAULT, type DemoDataset, demoDataset } from './demo-data.js';
import { type FillCounts, fillStore } from './demo-fill.js';
import { type DemoJoin, joinBatches } from './demo-join.js';
import { type DemoPlace, openDemoPlace } from './demo-place.js';
import { demoReport } from './demo-report.js';
import { demoWriting } from './demo-writing.js';
import { JsonLog } from './log.js';
import { openWriter } from './open-writer.js';
import type { Settings } from './settings.js';
import { loadKek, requireKekOf, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';

const STOP_WITHIN_MS = 5_000;
const SECOND_CACHE_BYTES = 16 * 2 ** 20;
/** Keys made at once. */
const KEYS_AT_ONCE = 16;

export interface DemoOptions {
  readonly settings: Settings;
  readonly seed: number | undefined;
  readonly print: (line: string) => void;
}

export async function runDemo({ settings, seed, print }: DemoOptions): Promise<ExitCode> {
  const closers = new Closers();
  try {
    const place = await openDemoPlace(settings, print);
    closers.add(() => place.close());
    const log: Log = new JsonLog(settings.logLevel === 'info' ? 'warn' : settings.logLevel);
    const sidecar = await startSidecar(place.settings, log);
    closers.add(() => sidecar.stop(STOP_WITHIN_MS));
    const client = new MailjoinClient({ socketPath: place.settings.socket });
    closers.add(() => client.close());

    const dataset = demoDataset(seed ?? DEMO_SEED_DEFAULT, systemClock.epochMs());
    print(
      `Sidecar on ${place.settings.socket}, ${sidecar.stores.place}; data set with seed ${dataset.seed}.`,
    );
    await fill(dataset, place.settings, sidecar.stores, print);
    const cold = await joinBatches(client, dataset.batches);
    const warm = await joinBatches(client, dataset.batches);
    print(`\n${demoReport(cold, warm)}`);
    const readExit = verdict(cold, warm, print);
    const writeExit = await write(place, client, log, print);
    return readExit === ExitCode.OK ? writeExit : readExit;
  } finally {
    await closers.closeAll();
  }
}

/** The second half: a writer beside the sidecar, and a second sidecar that sees what it writes. */
async function write(
  place: DemoPlace,
  own: MailjoinClient,
  log: Log,
  print: (line: string) => void,
): Promise<ExitCode> {
  const closers = new Closers();
  try {
    const socket = `${place.settings.socket}.2`;
    const second = await startSidecar({ ...place.settings, socket, cacheBytes: SECOND_CACHE_BYTES }, log);
    closers.add(() => second.stop(STOP_WITHIN_MS));
    const other = new MailjoinClient({ socketPath: socket });
    closers.add(() => other.close());
    const writer = await openWriter(place.settings, log);
    closers.add(() => writer.close(STOP_WITHIN_MS));
    print(`\nNow a writer; both sidecars follow the log ${place.logPlace}.\n`);
    const wrong = await demoWriting(writer, { own, other }, print);
    for (const text of wrong) print(`WRONG ${text}`);
    if (wrong.length === 0)
      print('\nEvery step was shown by both, and nothing that it replaced was served below its floor.');
    return wrong.length === 0 ? ExitCode.OK : ExitCode.FAILED;
  } finally {
    await closers.closeAll();
  }
}

/** Writes the data set as a writer would: keys made, payloads sealed, and the keys destroyed that must be. */
async function fill(
  dataset: DemoDataset,
  settings: Settings,
  stores: Stores,
  print: (line: string) => void,
): Promise<void> {
  const startedMs = systemClock.nowMs();
  const kek = await loadKek(settings);
  await requireKekOf(settings, stores, kek, 'wrap');
  const admin = new KeyAdmin(stores.keys, kek, systemClock);
  const provider = new LocalKeyProvider(stores.keys, kek);
  await makeKeys(admin, dataset.dekIds);
  const deks = await openKeys(provider, dataset.dekIds);
  let announced = 0;
  const counts = await fillStore(stores.messages, dataset, {
    seal: (sealing) => sealPayload({ ...sealing, dek: deks.get(dekKey(sealing.dekId)) as Uint8Array }),
    onProgress: (written, total) => {
      const tenth = Math.floor((written / total) * 10);
      if (settings.store === 'cql' && tenth > announced) print(`  ${written} of ${total} messages written`);
      announced = tenth;
    },
  });
  for (const dekId of dataset.dekIdsToDestroy) await admin.destroy(dekId);
  for (const dek of deks.values()) dek.fill(0);
  provider.close();
  print(filled(dataset, counts, systemClock.nowMs() - startedMs));
}

/** Versions of one id are made in order, different ids side by side. */
async function makeKeys(admin: KeyAdmin, dekIds: readonly DekId[]): Promise<void> {
  const firsts = dekIds.filter((dekId) => dekId.version === 1);
  for (let from = 0; from < firsts.length; from += KEYS_AT_ONCE) {
    await Promise.all(
      firsts.slice(from, from + KEYS_AT_ONCE).map(({ scope, id }) => admin.create(scope, id)),
    );
  }
  for (const { scope, id, version } of dekIds) if (version > 1) await admin.rotate(scope, id);
}

async function openKeys(
  provider: LocalKeyProvider,
  dekIds: readonly DekId[],
): Promise<Map<string, Uint8Array>> {
  const deks = new Map<string, Uint8Array>();
  for (let from = 0; from < dekIds.length; from += UNWRAP_BATCH_MAX) {
    const asked = dekIds.slice(from, from + UNWRAP_BATCH_MAX);
    const answers = await provider.unwrap(asked);
    for (const [index, dekId] of asked.entries()) {
      const answer = answers[index];
      if (answer?.status !== 'ok')
        throw new MailjoinError('KEY_UNAVAILABLE', `a key just made: ${answer?.status}`);
      deks.set(dekKey(dekId), answer.key);
    }
  }
  return deks;
}

function filled(dataset: DemoDataset, counts: FillCounts, tookMs: number): string {
  const { tenantIds, conversations, dekIds } = dataset;
  return (
    `${counts.messages} messages of ${tenantIds.length} tenants in ${conversations.length} conversations under ` +
    `${dekIds.length} keys, ${counts.edits} edited, ${counts.recalls} recalled, ${counts.summaries} with reactions, ` +
    `${(counts.bytes / 2 ** 20).toFixed(1)} MiB: written in ${Math.round(tookMs)} ms.`
  );
}

function verdict(
  cold: readonly DemoJoin[],
  warm: readonly DemoJoin[],
  print: (line: string) => void,
): ExitCode {
  const joins = [...cold, ...warm];
  const wrong = joins.flatMap(({ batch, differences }) =>
    differences.map((text) => `${batch.name}: ${text}`),
  );
  const costly = cold.filter(
    ({ batch, reads }) => batch.recordReadsMax !== undefined && reads > batch.recordReadsMax,
  );
  for (const text of wrong.slice(0, 20)) print(`WRONG ${text}`);
  if (wrong.length > 20) print(`WRONG and ${wrong.length - 20} more`);
  for (const { batch, reads } of costly)
    print(`TOO MANY READS ${batch.name}: ${reads}, at most ${batch.recordReadsMax}`);
  const entries = joins.reduce((sum, { batch }) => sum + batch.entries.length, 0);
  if (wrong.length === 0 && costly.length === 0)
    print(`\nAll ${entries} results are as stored, body by body.`);
  return wrong.length === 0 && costly.length === 0 ? ExitCode.OK : ExitCode.FAILED;
}
