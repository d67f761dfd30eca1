/**
 * `mailjoin keys init | create | list | rotate | destroy`: the data keys, by scope and id. Keys are never printed. To list
 * and to destroy no key-encryption key is needed, so both work when its file is lost.
 */
import { createKekFile } from '../crypto/kek-file.js';
import { KeyAdmin, type KeyInfo } from '../crypto/key-admin.js';
import { KEY_POLL_MS_DEFAULT } from '../domain/limits.js';
import { type DekId, isKeyVersion, KEY_VERSION_MAX } from '../domain/message.js';
import type { Outbox } from '../domain/write-ports.js';
import {
  BROKER_SETTINGS,
  type Command,
  CQL_SETTINGS,
  ExitCode,
  type Invocation,
  JSON_OPTION,
} from './command.js';
import type { CommandOption } from './command-line.js';
import { destroyKey } from './destroy-key.js';
import { logKindOf, openLog } from './open-log.js';
import { flagOf, type SettingName } from './settings.js';
import { loadKek, openExistingStores, openStores, requireKekOf, type Stores } from './stores.js';
import { systemClock } from './system-clock.js';
import { textTable } from './text-table.js';
import { existingKeyId, typedKeyId } from './typed-key-id.js';
import { UsageError } from './usage-error.js';
import { visibleText } from './visible-text.js';

const STORE_SETTINGS: readonly SettingName[] = ['config', 'logLevel', 'store', 'dataDir', ...CQL_SETTINGS];
/** To make keys, and the store where there is none; to wrap keys in a store that is there; to look at keys alone. */
type Purpose = 'make' | 'wrap' | 'look';
const YES_OPTION: CommandOption = {
  flag: 'yes',
  meaning: 'Really destroy it: what it sealed is lost for ever.',
};

export const keysCommands: readonly Command[] = [
  {
    name: 'keys init',
    operands: '',
    operandCountMin: 0,
    operandCountMax: 0,
    summary: 'Make the key-encryption key that --kek-file names; an existing file is left as it is.',
    settings: ['config', 'logLevel', 'kekFile'],
    options: [],
    makesKekFile: true,
    run: init,
  },
  {
    name: 'keys create',
    operands: 'SCOPE ID',
    operandCountMin: 2,
    operandCountMax: 2,
    summary: 'Make version 1 of a new data key.',
    settings: [...STORE_SETTINGS, 'kekFile'],
    options: [JSON_OPTION],
    run: (invocation) => makeKey(invocation, 'make', 'created', (keys, scope, id) => keys.create(scope, id)),
  },
  {
    name: 'keys list',
    operands: '[SCOPE [ID]]',
    operandCountMin: 0,
    operandCountMax: 2,
    summary: 'List data keys and their versions, destroyed ones included.',
    settings: STORE_SETTINGS,
    options: [JSON_OPTION],
    run: (invocation) =>
      withKeys(invocation, 'look', async (keys, [scope, id]) => {
        const found: KeyInfo[] = [];
        const known = scope === undefined || id === undefined ? id : await existingKeyId(keys, scope, id);
        for await (const key of keys.list(scope, known)) found.push(key);
        printKeys(invocation, found);
        return ExitCode.OK;
      }),
  },
  {
    name: 'keys rotate',
    operands: 'SCOPE ID',
    operandCountMin: 2,
    operandCountMax: 2,
    summary: 'Make the next version of a data key.',
    settings: [...STORE_SETTINGS, 'kekFile'],
    options: [JSON_OPTION],
    run: (invocation) => makeKey(invocation, 'wrap', 'rotated', (keys, scope, id) => keys.rotate(scope, id)),
  },
  {
    name: 'keys destroy',
    operands: 'SCOPE ID VERSION',
    operandCountMin: 3,
    operandCountMax: 3,
    summary: `Destroy one version: sidecars learn of it from the log, or within ${KEY_POLL_MS_DEFAULT} ms by default.`,
    settings: [...STORE_SETTINGS, 'log', ...BROKER_SETTINGS, 'topic'],
    options: [YES_OPTION, JSON_OPTION],
    run: destroy,
  },
];

async function init({ settings: { kekFile }, print }: Invocation): Promise<ExitCode> {
  if (kekFile === undefined) throw new UsageError(`keys init needs --${flagOf('kekFile')}`);
  await createKekFile(kekFile);
  print(`made ${kekFile}, mode 0600; keep a copy of it elsewhere than the messages`);
  return ExitCode.OK;
}

async function makeKey(
  invocation: Invocation,
  purpose: Purpose,
  what: string,
  make: (keys: KeyAdmin, scope: string, id: string) => Promise<DekId>,
): Promise<ExitCode> {
  const [scope = '', typed = ''] = invocation.operands;
  const id = typedKeyId(scope, typed);
  return withKeys(invocation, purpose, async (keys) => {
    printDekId(invocation, what, await make(keys, scope, id));
    return ExitCode.OK;
  });
}

async function destroy(invocation: Invocation): Promise<ExitCode> {
  const [scope = '', id = '', versionText = ''] = invocation.operands;
  const version = /^[1-9][0-9]{0,9}$/.test(versionText) ? Number(versionText) : Number.NaN;
  if (!isKeyVersion(version)) {
    throw new UsageError(`VERSION must be a whole number from 1 to ${KEY_VERSION_MAX}`);
  }
  if (!invocation.options.has(YES_OPTION.flag)) {
    const name = nameOf({ scope, id, version });
    throw new UsageError(`what ${name} sealed would be lost for ever; say --yes to go on`);
  }
  return withKeys(invocation, 'look', async (keys, _, stores) => {
    const dekId = { scope, id: await existingKeyId(keys, scope, id), version };
    await destroyTold(invocation, keys, stores, dekId);
    printDekId(invocation, 'destroyed', dekId);
    return ExitCode.OK;
  });
}

/** A log that cannot be told does not keep a key alive: whoever does not hear of it finds the marker at its next poll. */
async function destroyTold(
  { settings, log }: Invocation,
  keys: KeyAdmin,
  stores: Stores,
  dekId: DekId,
): Promise<void> {
  if (logKindOf(settings) === 'none') return keys.destroy(dekId);
  let opened: Outbox | undefined;
  // Opened when the key is gone, so that a broker that is down cannot keep it.
  const outbox: Pick<Outbox, 'append'> = {
    append: async (record) => {
      opened = await openLog(settings, stores.log, systemClock);
      return opened.append(record);
    },
  };
  try {
    const untold = await destroyKey({ keys, outbox, clock: systemClock }, dekId);
    if (untold !== undefined) log.write('warn', 'destruction_not_logged', { code: untold.code });
  } finally {
    await opened?.close();
  }
}

async function withKeys(
  { settings, operands }: Invocation,
  purpose: Purpose,
  use: (keys: KeyAdmin, operands: readonly string[], stores: Stores) => Promise<ExitCode>,
): Promise<ExitCode> {
  // Nothing is wrapped where no key is made: an empty KEK would be refused.
  const kek = purpose === 'look' ? new Uint8Array(0) : await loadKek(settings, purpose === 'make');
  try {
    const open = purpose === 'make' ? openStores : openExistingStores;
    const stores = await open(settings, systemClock);
    try {
      if (purpose !== 'look') await requireKekOf(settings, stores, kek, 'wrap');
      return await use(new KeyAdmin(stores.keys, kek, systemClock), operands, stores);
    } finally {
      await stores.close();
    }
  } finally {
    kek.fill(0);
  }
}

function nameOf({ scope, id, version }: DekId): string {
  return visibleText(`${scope}/${id}/${version}`);
}

function printDekId({ options, print }: Invocation, what: string, dekId: DekId): void {
  print(options.has(JSON_OPTION.flag) ? JSON.stringify(dekId) : `${what} ${nameOf(dekId)}`);
}

function printKeys({ options, print }: Invocation, keys: readonly KeyInfo[]): void {
  const time = (epochMs: number | undefined) =>
    epochMs === undefined ? '' : new Date(epochMs).toISOString();
  if (options.has(JSON_OPTION.flag)) {
    for (const { dekId, createdAtEpochMs, destroyedAtEpochMs } of keys) {
      print(JSON.stringify({ ...dekId, createdAtEpochMs, destroyedAtEpochMs }));
    }
    return;
  }
  print(
    textTable(
      ['scope', 'id', 'version', 'created', 'destroyed'],
      keys.map(({ dekId, createdAtEpochMs, destroyedAtEpochMs }) => [
        dekId.scope,
        dekId.id,
        String(dekId.version),
        time(createdAtEpochMs),
        time(destroyedAtEpochMs),
      ]),
    ),
  );
}
