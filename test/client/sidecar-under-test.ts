/**
 * A whole sidecar in this process, on the embedded store in a temporary folder, and conversations written through the
 * store's own port, sealed with a DEK of their own. What was stored in the clear is kept, to hold bodies against.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sidecar, startSidecar } from '../../src/cli/compose.js';
import { type Settings, settingsWith } from '../../src/cli/settings.js';
import { loadKek } from '../../src/cli/stores.js';
import { MailjoinClient } from '../../src/client/index.js';
import { wrapDek } from '../../src/crypto/key-wrap.js';
import { sealPayload } from '../../src/crypto/payload.js';
import type { ConversationId, TenantId } from '../../src/domain/ids.js';
import type { DekId, MessageRecord } from '../../src/domain/message.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { conversation, fullRecord, inParallel, life } from '../stores/fixtures.js';

export interface SidecarUnderTest {
  readonly sidecar: Sidecar;
  readonly client: MailjoinClient;
  readonly socketPath: string;
  /** Writes messages at these seqs of a new conversation. */
  write(tenantId: TenantId, seqs: readonly bigint[], payloadBytes?: number): Promise<StoredConversation>;
  stop(): Promise<void>;
}

export interface StoredConversation {
  readonly tenantId: TenantId;
  readonly conversationId: ConversationId;
  readonly dekId: DekId;
  readonly messages: readonly StoredMessage[];
}

export interface StoredMessage {
  readonly record: MessageRecord;
  readonly payload: Buffer;
}

export async function startSidecarUnderTest(over: Partial<Settings> = {}): Promise<SidecarUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'mailjoin-e2e-'));
  const socketPath = join(folder, 'join.sock');
  const settings = settingsWith({
    socket: socketPath,
    dataDir: join(folder, 'data'),
    cacheBytes: 16 * 1024 * 1024,
    workers: 1,
    ...over,
  });
  const sidecar = await startSidecar(settings, SILENT_LOG);
  const kek = await loadKek(settings);
  const client = new MailjoinClient({ socketPath });
  return {
    sidecar,
    client,
    socketPath,
    write: (tenantId, seqs, payloadBytes = 200) => write(sidecar, kek, tenantId, seqs, payloadBytes),
    stop: async () => {
      await client.close();
      await sidecar.stop(2_000);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function write(
  { stores }: Sidecar,
  kek: Uint8Array,
  tenantId: TenantId,
  seqs: readonly bigint[],
  payloadBytes: number,
): Promise<StoredConversation> {
  const conversationId = conversation();
  const dek = randomBytes(32);
  const dekId: DekId = { scope: 'test', id: Buffer.from(conversationId).toString('hex'), version: 1 };
  await stores.keys.insert({
    dekId,
    wrapped: wrapDek(kek, dekId, dek),
    createdAtEpochMs: Date.now(),
    destroyedAtEpochMs: undefined,
  });
  const messages = seqs.map((seq) => {
    const payload = randomBytes(payloadBytes);
    const sealed = sealPayload({ tenantId, conversationId, seq, dek, dekId, plaintext: payload });
    return { payload, record: fullRecord(seq, { payload: sealed, dekId }) };
  });
  await inParallel(messages, 64, ({ record }) =>
    stores.messages.insertRecord({ tenantId, conversationId, seq: record.seq }, record, life()),
  );
  return { tenantId, conversationId, dekId, messages };
}
