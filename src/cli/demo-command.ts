/** `mailjoin demo`: the whole way of a batch on data of its own, checked body by body. */
import { BROKER_SETTINGS, type Command, CQL_SETTINGS } from './command.js';
import { UsageError } from './usage-error.js';

const SEED_FLAG = 'seed';
const SEED_MAX = 0xffff_ffff;

export const demoCommand: Command = {
  name: 'demo',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary:
    'Fill a store of its own, join batches through a real sidecar, write beside it, and check every answer.',
  settings: [
    'config',
    'logLevel',
    'store',
    // Not the keyspace: the demo makes and drops one of its own.
    ...CQL_SETTINGS.filter((name) => name !== 'keyspace'),
    ...BROKER_SETTINGS,
    'replication',
    'cacheBytes',
    'workers',
  ],
  options: [
    { flag: SEED_FLAG, placeholder: 'n', meaning: 'Seed of the data set; the default is always the same.' },
  ],
  mayStartCluster: true,
  // Loaded only when it runs: the demo brings code that no other command needs.
  run: async ({ settings, options, print }) => {
    const { runDemo } = await import('./demo.js');
    return await runDemo({ settings, seed: seedOf(options.get(SEED_FLAG)), print });
  },
};

function seedOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seed = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seed <= SEED_MAX)) throw new UsageError(`--${SEED_FLAG} must be a whole number up to ${SEED_MAX}`);
  return seed;
}
