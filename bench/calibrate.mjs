/**
 * `npm run bench:calibrate [-- --rounds n --seconds n …]`
 *
 * `mailjoin calibrate` on a Cassandra that is started for it, or in a keyspace of its own on the one that
 * `--contact-points` names: how the README's table and picture were made. Further flags go to the command.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKekFile } from '../dist/crypto/kek-file.js';
import { runBounded } from './bounded-run.mjs';
import { printMachine } from './report.mjs';
import { openStore } from './stores.mjs';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const RUN_MS_MAX = 600_000;

const words = process.argv.slice(2);
const at = words.indexOf('--contact-points');
const contactPoints = at < 0 ? undefined : words.splice(at, 2)[1]?.split(',');

const folder = await mkdtemp(join(tmpdir(), 'mailjoin-bench-'));
const stops = [() => rm(folder, { recursive: true, force: true })];
await runBounded(calibrate, stops, RUN_MS_MAX);

async function calibrate() {
  printMachine();
  const kekPath = join(folder, 'kek');
  await createKekFile(kekPath);
  const opened = await openStore('cql', folder, contactPoints, kekPath);
  stops.push(opened.close);
  const settings = Object.entries(opened.settings).filter(([flag]) => flag !== 'kek-file');
  const flags = settings.flatMap(([flag, value]) => [`--${flag}`, value]);
  const command = spawn(process.execPath, [MAIN, 'calibrate', ...flags, ...words], { stdio: 'inherit' });
  stops.push(() => command.kill());
  const [code] = await once(command, 'close');
  if (code !== 0) throw new Error(`calibrate ended with ${code}`);
}
