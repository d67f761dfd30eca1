/** Look-ups by message_id end to end (R2.2): off unless allowed, and what they say where index and messages differ. */
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMessageBody } from '../../src/client/index.js';
import { formatHex } from '../../src/domain/ids.js';
import { conversation, message, tenant } from '../stores/fixtures.js';
import {
  type SidecarUnderTest,
  type StoredConversation,
  startSidecarUnderTest,
} from './sidecar-under-test.js';

const TENANT = tenant();
const LASTING = { ttlSeconds: undefined, timestampMicros: 1n };

/** The look-ups counted so far, by outcome. */
async function counted({ socketPath }: SidecarUnderTest): Promise<Record<string, number>> {
  const page = await new Promise<string>((resolve, reject) => {
    const request = http.get({ socketPath, path: '/metrics' }, (response) => {
      text(response).then(resolve, reject);
    });
    request.on('error', reject);
  });
  expect(page).toMatch(
    /# HELP mailjoin_index_lookups_total .*order of the message rate is a defect \(R2\.2\)/,
  );
  return Object.fromEntries(
    [...page.matchAll(/^mailjoin_index_lookups_total\{outcome="(\w+)"\} (\d+)$/gm)].map(
      ([, outcome = '', count]) => [outcome, Number(count)],
    ),
  );
}

describe('client.lookup', () => {
  it('R2.2 is off by default: a coded refusal that says how to allow it, and nothing is read', async () => {
    const under = await startSidecarUnderTest();
    const asked = under.client.lookup({ tenantId: TENANT, messageId: message() });
    await expect(asked).rejects.toMatchObject({
      code: 'LOOKUP_OFF',
      retryable: false,
      message: expect.stringContaining('--lookup'),
    });
    expect(await counted(under)).toEqual({ found: 0, missing: 0, failed: 0 });
    await under.stop();
  });
});

describe('client.lookup where it is allowed', () => {
  let under: SidecarUnderTest;
  let written: StoredConversation;
  beforeAll(async () => {
    under = await startSidecarUnderTest({ lookup: true });
    written = await under.write(TENANT, [4095n, 4096n]);
  });
  afterAll(() => under.stop());

  const put = async (messageId = message(), seq = 4096n, conversationId = written.conversationId) => {
    await under.sidecar.stores.writes.putIndex(TENANT, messageId, { conversationId, seq }, LASTING);
    return messageId;
  };

  it('refuses what is no id before anything is sent', async () => {
    await expect(under.client.lookup({ tenantId: TENANT, messageId: 'x' })).rejects.toMatchObject({
      code: 'REQUEST_MALFORMED',
    });
    await expect(under.client.lookup({ tenantId: 'x', messageId: message() })).rejects.toMatchObject({
      code: 'TENANT_MISSING',
    });
  });

  it('says where a message lies, with its body only where that is asked for, and counts', async () => {
    const before = await counted(under);
    const [, stored] = written.messages;
    if (stored === undefined) throw new Error('was written');
    const messageId = await put(stored.record.messageId);
    const place = await under.client.lookup({ tenantId: TENANT, messageId: formatHex(messageId) });
    expect(place).toMatchObject({ at: { seq: 4096n, seqBucket: 1n }, result: 'OK', body: undefined });
    expect(formatHex(place.at?.conversationId as Uint8Array)).toBe(formatHex(written.conversationId));
    const { body } = await under.client.lookup({ tenantId: TENANT, messageId, wantBody: true });
    expect(Buffer.from(decodeMessageBody(body as Uint8Array).payload as Uint8Array)).toEqual(stored.payload);
    expect(await counted(under)).toEqual({ ...before, found: (before.found as number) + 2 });
  });

  it('what the index does not have is an answer, not an error; another tenant’s is not found either (B42)', async () => {
    const before = await counted(under);
    const nowhere = { at: undefined, result: 'NOT_FOUND', body: undefined };
    expect(await under.client.lookup({ tenantId: TENANT, messageId: message() })).toEqual(nowhere);
    const messageId = await put();
    expect(await under.client.lookup({ tenantId: tenant(), messageId, wantBody: true })).toEqual(nowhere);
    expect(await counted(under)).toEqual({ ...before, missing: (before.missing as number) + 2 });
  });

  it('a row that is gone is NOT_FOUND, one of another message MISMATCH, at the coordinates of the index', async () => {
    const gone = await put(message(), 77n, conversation());
    expect(await under.client.lookup({ tenantId: TENANT, messageId: gone, wantBody: true })).toMatchObject({
      at: { seq: 77n, seqBucket: 0n },
      result: 'NOT_FOUND',
      body: undefined,
    });
    const other = await put(message(), 4096n);
    expect(await under.client.lookup({ tenantId: TENANT, messageId: other, wantBody: true })).toMatchObject({
      at: { seq: 4096n },
      result: 'MISMATCH',
      body: undefined,
    });
  });
});
