/**
 * A data key that another process destroys (`mailjoin keys destroy`) while a sidecar serves bodies under it: ERASED
 * within the stated time, nothing of it left in the region, other keys untouched (R3.2, D12, B37).
 */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JoinResult } from '../../src/client/index.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  startSidecarUnderTest,
} from '../client/sidecar-under-test.js';
import { tenant, until } from '../stores/fixtures.js';

const PROGRAM = path.join(
  path.dirname(createRequire(import.meta.url).resolve('#open-worker')),
  '../cli/main.js',
);
const TENANT = tenant();
const SEQS = Array.from({ length: 50 }, (_, index) => BigInt(index));

let under: SidecarUnderTest;

beforeAll(async () => {
  under = await startSidecarUnderTest({ keyPollMs: 50 });
});

afterAll(() => under.stop());

function join({ conversationId, messages }: StoredConversation): Promise<JoinResult> {
  const entries = messages.map(({ record }) => ({
    conversationId,
    seq: record.seq,
    messageId: record.messageId,
  }));
  return under.client.join({ kind: 'MAILBOX_BATCH', tenantId: TENANT, entries });
}

async function destroy({ dekId }: StoredConversation): Promise<void> {
  const dataDir = path.join(path.dirname(under.socketPath), 'data');
  const words = [
    'keys',
    'destroy',
    dekId.scope,
    dekId.id,
    String(dekId.version),
    '--yes',
    '--data-dir',
    dataDir,
  ];
  await promisify(execFile)(process.execPath, [PROGRAM, ...words]);
}

function results({ entries }: JoinResult): Set<string> {
  return new Set(entries.map(({ result }) => result));
}

it('B37: a key destroyed by another process while batches under it are joined: ERASED from then on, for it alone', async () => {
  const doomed = await under.write(TENANT, SEQS);
  const other = await under.write(TENANT, SEQS);
  expect(results(await join(doomed))).toEqual(new Set(['OK']));
  expect(results(await join(other))).toEqual(new Set(['OK']));
  const before = under.sidecar.cacheStats();

  let isDestroyed = false;
  const joins = (async () => {
    const seen = new Set<string>();
    while (!isDestroyed) for (const result of results(await join(doomed))) seen.add(result);
    return seen;
  })();
  await destroy(doomed);
  await until(async () => results(await join(doomed)).has('ERASED'));
  isDestroyed = true;
  const seen = await joins;
  for (const result of seen) expect(['OK', 'ERASED']).toContain(result);

  expect(results(await join(doomed))).toEqual(new Set(['ERASED']));
  expect((await join(doomed)).bodies).toHaveLength(0);
  const after = under.sidecar.cacheStats();
  expect(before.bodies - after.bodies).toBe(SEQS.length);
  const hits = after.hits;
  expect(results(await join(other))).toEqual(new Set(['OK']));
  expect(under.sidecar.cacheStats().hits - hits).toBe(SEQS.length);
});
