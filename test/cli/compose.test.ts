/** A whole sidecar in this process, on the embedded store. Worker threads run the built file. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Sidecar, startSidecar } from '../../src/cli/compose.js';
import { settingsWith } from '../../src/cli/settings.js';
import { loadKek } from '../../src/cli/stores.js';
import { systemClock } from '../../src/cli/system-clock.js';
import { KeyAdmin } from '../../src/crypto/key-admin.js';
import { LocalKeyProvider } from '../../src/crypto/local-key-provider.js';
import { sealPayload } from '../../src/crypto/payload.js';
import { formatHex, formatUuid } from '../../src/domain/ids.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { exchange, joinRequest, temporaryDirectory } from '../server/server-fixture.js';
import { fullRecord, INSERT_MICROS, somewhere } from '../stores/fixtures.js';

const KEY_POLL_MS = 20;

let directory: string;
let settings: ReturnType<typeof settingsWith>;
let sidecar: Sidecar;

beforeEach(async () => {
  directory = temporaryDirectory();
  settings = settingsWith({
    socket: path.join(directory, 'mailjoin.sock'),
    dataDir: path.join(directory, 'data'),
    cacheBytes: 4 * 1024 * 1024,
    keyPollMs: KEY_POLL_MS,
    workers: 1,
  });
  sidecar = await startSidecar(settings, SILENT_LOG);
});
afterEach(async () => {
  await sidecar.stop(100);
  fs.rmSync(directory, { recursive: true, force: true });
});

interface Written {
  readonly request: Buffer;
  readonly admin: KeyAdmin;
  readonly payload: string;
}

/** One message, sealed with a key of its own, and the JSON request for it. */
async function writeMessage(): Promise<Written> {
  const kek = await loadKek(settings);
  const admin = new KeyAdmin(sidecar.stores.keys, kek, systemClock);
  const dekId = await admin.create('tenant', 'conversation');
  const [unwrapped] = await new LocalKeyProvider(sidecar.stores.keys, kek).unwrap([dekId]);
  if (unwrapped?.status !== 'ok') throw new Error('the key was just made');
  const where = somewhere(5n);
  const payload = 'hello, héllo';
  const envelope = sealPayload({ ...where, dek: unwrapped.key, dekId, plaintext: Buffer.from(payload) });
  const record = fullRecord(where.seq, { payload: envelope, dekId });
  await sidecar.stores.messages.insertRecord(where, record, {
    ttlSeconds: undefined,
    timestampMicros: INSERT_MICROS,
  });
  const entry = {
    conversation_id: formatUuid(where.conversationId),
    conversation_seq: String(where.seq),
    message_id: formatHex(record.messageId),
  };
  const body = {
    kind: 'MAILBOX_BATCH',
    tenant_id: formatUuid(where.tenantId),
    entries: [entry, entry],
    want_receipt: true,
  };
  return { request: joinRequest(Buffer.from(JSON.stringify(body)), 'application/json'), admin, payload };
}

async function join(request: Buffer) {
  const response = await exchange(settings.socket, request);
  expect(response.status).toBe(200);
  return JSON.parse(response.body.toString());
}

describe('a sidecar', () => {
  it('joins a sealed message: one body for two references, the second time from the cache', async () => {
    const { request, payload } = await writeMessage();
    const cold = await join(request);
    expect(cold.results.map(({ result }: { result: string }) => result)).toEqual(['OK', 'OK']);
    expect(cold.bodies).toHaveLength(1);
    expect(cold.bodies[0].payload_text).toBe(payload);
    expect(cold.receipt).toMatchObject({ cache_hits: 0, groups: 1 });
    const warm = await join(request);
    expect(warm.receipt).toMatchObject({ cache_hits: 1, groups: 0 });
    expect(warm.bodies).toEqual(cold.bodies);
  });

  it('B42: another tenant asking for a cached message gets what an unknown message gets', async () => {
    const { request } = await writeMessage();
    expect((await join(request)).results[0].result).toBe('OK');
    const body = JSON.parse(request.toString().split('\r\n\r\n')[1] ?? '');
    const ask = (changed: object) =>
      joinRequest(Buffer.from(JSON.stringify({ ...body, ...changed })), 'application/json');
    const tenantB = { tenant_id: '00112233-4455-6677-8899-aabbccddeeff' };
    const other = await join(ask(tenantB));
    const unknown = await join(
      ask({
        ...tenantB,
        entries: body.entries.map((entry: object) => ({ ...entry, message_id: '0'.repeat(32) })),
      }),
    );
    expect(other.results).toEqual(unknown.results);
    expect(other.results[0].result).toBe('NOT_FOUND');
    expect(other.bodies).toEqual([]);
    expect(other.receipt.cache_hits).toBe(0);
  });

  it('B37: a key destroyed by another process: its cached bodies are ERASED within the stated time', async () => {
    const { request } = await writeMessage();
    expect((await join(request)).results[0].result).toBe('OK');
    const other = await openEmbedded(settings.dataDir, systemClock);
    await new KeyAdmin(other.keys, new Uint8Array(0), systemClock).destroy({
      scope: 'tenant',
      id: 'conversation',
      version: 1,
    });
    await other.close();
    const endMs = systemClock.nowMs() + KEY_POLL_MS + settings.storeTimeoutMs;
    let result = 'OK';
    while (result === 'OK' && systemClock.nowMs() < endMs) result = (await join(request)).results[0].result;
    expect(result).toBe('ERASED');
    expect(JSON.stringify(await join(request))).not.toContain('payload');
  });

  it('a start that fails leaves nothing open: the next one succeeds in the same place', async () => {
    await expect(startSidecar(settings, SILENT_LOG)).rejects.toMatchObject({ code: 'SOCKET_IN_USE' });
    await sidecar.stop(100);
    sidecar = await startSidecar(settings, SILENT_LOG);
    const { request } = await writeMessage();
    expect((await join(request)).results[0].result).toBe('OK');
  });
});
