/**
 * The real `mailjoin serve` in a process of its own, on a socket in a temporary folder. It is stopped by SIGTERM, and
 * in any case when this process ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MailjoinClient } from '../dist/client/index.js';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const START_MS_MAX = 20_000;
/** The kernel's USER_HZ is 100. */
const MS_PER_TICK = 10;

/** @returns {{stop: () => Promise<void>, cpuMs: () => number}} once it answers joins */
export async function startSidecar(socketPath, settings) {
  const flags = Object.entries({ socket: socketPath, 'log-level': 'warn', ...settings }).map(
    ([name, value]) => `--${name}=${value}`,
  );
  const child = spawn(process.execPath, [MAIN, 'serve', ...flags], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const stop = async () => {
    process.removeListener('exit', killWithUs);
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  };
  const client = new MailjoinClient({ socketPath });
  try {
    await readyWithin(client, child, START_MS_MAX);
  } catch (error) {
    await stop();
    throw error;
  } finally {
    await client.close();
  }
  return { stop, cpuMs: () => cpuMs(child.pid) };
}

/** Processor time that a process has taken, all threads, in steps of 10 ms (Linux). */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

async function readyWithin(client, child, withinMs) {
  const endsMs = performance.now() + withinMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`mailjoin serve ended with ${child.exitCode}`);
    if (performance.now() > endsMs) throw new Error(`mailjoin serve was not ready within ${withinMs} ms`);
    const probe = await client.ready().catch(() => undefined);
    if (probe?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
