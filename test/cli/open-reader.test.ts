/** What `history` and `lookup --content` read with: on the embedded store that the program itself has filled. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Region } from '../../src/cache/region.js';
import { openReader } from '../../src/cli/open-reader.js';
import { settingsWith } from '../../src/cli/settings.js';
import { systemClock } from '../../src/cli/system-clock.js';
import { DekCache } from '../../src/crypto/dek-cache.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { HistoryDirection } from '../../src/domain/history.js';
import { conversationIdOf, parseUuid, tenantIdOf } from '../../src/domain/ids.js';
import { resultName } from '../../src/domain/result.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { messageJson, programUnderTest, TENANT } from './write-program.js';

const KEY_POLL_MS = 20;

/** A conversation of two messages, and the settings to read it with. */
async function written() {
  const { dataDir, run } = programUnderTest();
  const conversation = randomUUID();
  const items = ['a', 'b'].map((payload_text) =>
    messageJson({ conversation_id: conversation, payload_text }),
  );
  const { errors, rows } = await run(['commit', '--json'], items);
  if (rows.length !== items.length) throw new Error(errors);
  const tenantId = tenantIdOf(parseUuid(TENANT) as Uint8Array);
  const conversationId = conversationIdOf(parseUuid(conversation) as Uint8Array);
  if (tenantId === undefined || conversationId === undefined) throw new Error('no ids');
  const settings = settingsWith({ dataDir, keyPollMs: KEY_POLL_MS });
  return { dataDir, settings, tenantId, conversationId };
}

it('a part that cannot be made closes those before it: no file of the store stays open, no key in memory', async () => {
  const { dataDir, settings } = await written();
  const close = vi.spyOn(DekCache.prototype, 'close');
  const create = vi.spyOn(Region, 'create').mockImplementation(() => {
    // Only then are the stores open.
    expect(openFilesIn(dataDir)).not.toEqual([]);
    throw new RangeError('no memory');
  });
  onTestFinished(() => void vi.restoreAllMocks());
  await expect(openReader(settings, SILENT_LOG)).rejects.toThrow('no memory');
  expect(openFilesIn(dataDir)).toEqual([]);
  expect(close).toHaveBeenCalledTimes(1);
  create.mockRestore();
  const reader = await openReader(settings, SILENT_LOG);
  await reader.close();
  expect(openFilesIn(dataDir)).toEqual([]);
});

it('B37 a key destroyed elsewhere between two pages: the next one is ERASED within the stated time', async () => {
  const { dataDir, settings, tenantId, conversationId } = await written();
  const reader = await openReader(settings, SILENT_LOG);
  onTestFinished(() => reader.close());
  const resultAt = async (anchor: bigint) => {
    const { entries } = await reader.history.page({
      ...{ tenantId, conversationId, anchor, direction: HistoryDirection.OLDER },
      ...{ limit: 1, deadlineMs: 20_000, responseBytesMax: 65_536 },
    });
    return resultName(entries.code[0] as number);
  };
  expect(await resultAt(3n)).toBe('OK');
  const other = await openEmbedded(dataDir, systemClock);
  const admin = new KeyAdmin(other.keys, new Uint8Array(0), systemClock);
  for await (const { dekId } of other.keys.list()) await admin.destroy(dekId);
  await other.close();
  const destroyedAtMs = systemClock.nowMs();
  while (systemClock.nowMs() <= destroyedAtMs + KEY_POLL_MS) await new Promise(setImmediate);
  expect(await resultAt(2n)).toBe('ERASED');
});

/** Files below a folder that this process has open. */
function openFilesIn(folder: string): string[] {
  const real = fs.realpathSync(folder);
  const targets = fs.readdirSync('/proc/self/fd').map((fd) => {
    try {
      return fs.readlinkSync(path.join('/proc/self/fd', fd));
    } catch {
      // The listing's own descriptor is gone by now.
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(`${real}${path.sep}`));
}
