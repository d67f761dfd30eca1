/**
 * `mailjoin serve`: the sidecar until SIGTERM or SIGINT, then a clean stop (B29). A second signal ends it at once.
 */
import type { Log } from '../server/log.js';
import { BROKER_SETTINGS, type Command, CQL_SETTINGS, ExitCode, type Invocation } from './command.js';
import { type Sidecar, startSidecar } from './compose.js';
import { stopSignal } from './stop-signal.js';

/** What stores and workers may take to close once the last batch is answered. */
const CLOSE_GRACE_MS = 5_000;

export const serveCommand: Command = {
  name: 'serve',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Serve joins on a Unix socket.',
  settings: [
    'config',
    'logLevel',
    'socket',
    'socketMode',
    'store',
    'dataDir',
    ...CQL_SETTINGS,
    'kekFile',
    'allowUnsealed',
    'cacheBytes',
    'cacheAgeMs',
    'dekCacheTtlMs',
    'keyPollMs',
    'log',
    ...BROKER_SETTINGS,
    'topic',
    'followLagMaxMs',
    'warm',
    'retentionFile',
    'unwrapTimeoutMs',
    'inCap',
    'readCosts',
    'lookup',
    'workers',
    'batchesMax',
    'shutdownMs',
    'bucketWidth',
  ],
  options: [],
  run: serve,
};

async function serve({ settings, log, print }: Invocation): Promise<ExitCode> {
  const stop = stopSignal();
  const sidecar = await startSidecar(settings, log);
  print(`mailjoin listens on ${settings.socket} (${sidecar.stores.place})`);
  const { source, model } = sidecar.costs;
  const { surplusBytesMax: _, surplusRowBytes: __, ...constants } = model;
  log.write('info', 'started', {
    socket: settings.socket,
    store: settings.store,
    pid: process.pid,
    readCosts: source,
    ...constants,
  });
  const signal = await stop.received;
  log.write('info', 'stopping', { signal, requests: sidecar.server.requestsInFlight });
  return await stopWithin(sidecar, settings.shutdownMs, log);
}

async function stopWithin(sidecar: Sidecar, withinMs: number, log: Log): Promise<ExitCode> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), withinMs + CLOSE_GRACE_MS);
  });
  const cutOff = await Promise.race([sidecar.stop(withinMs), late]);
  clearTimeout(timer);
  if (cutOff === 'late') {
    log.write('error', 'stop_too_slow', { withinMs: withinMs + CLOSE_GRACE_MS });
    return ExitCode.FAILED;
  }
  log.write(cutOff > 0 ? 'warn' : 'info', 'stopped', { requestsCutOff: cutOff });
  return ExitCode.OK;
}
