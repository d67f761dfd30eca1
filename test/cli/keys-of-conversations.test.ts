/** Data keys of conversations as a person names them: one per tenant and conversation (R6.1), destroyed one by one. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/cli/system-clock.js';
import { parseUuid } from '../../src/domain/ids.js';
import { openEmbedded } from '../../src/embedded/open-embedded.js';
import { startSidecarUnderTest } from '../client/sidecar-under-test.js';
import { resultOf } from '../follow/sidecars.js';
import { conversation, message, tenant, until } from '../stores/fixtures.js';
import { messageJson, type ProgramUnderTest, programUnderTest, type Row, TENANT } from './write-program.js';

const OTHER_TENANT = 'ffeeddcc-bbaa-9988-7766-554433221100';
const FORM = 'TENANT_UUID/CONVERSATION_UUID';
const uuid = (text: string) => parseUuid(text) as Uint8Array;

/** One conversation_id, with a message of each tenant. */
async function ofTwoTenants() {
  const program = programUnderTest();
  const id = randomUUID();
  const [mine, theirs] = [await committed(program, id, TENANT), await committed(program, id, OTHER_TENANT)];
  return { program, id, mine, theirs };
}

async function committed(program: ProgramUnderTest, conversation_id: string, tenant_id: string) {
  const { rows, errors } = await program.run(
    ['commit', '--json'],
    messageJson({ conversation_id, tenant_id, payload_text: `of ${tenant_id}` }),
  );
  const [row] = rows;
  if (row === undefined) throw new Error(errors);
  return row;
}

function targetOf(tenantId: string, { conversation_id, conversation_seq, message_id }: Row) {
  return {
    tenantId: tenant(uuid(tenantId)),
    conversationId: conversation(uuid(conversation_id)),
    seq: BigInt(conversation_seq),
    messageId: message(Buffer.from(message_id, 'hex')),
  };
}

const keysIn = (rows: readonly Row[]) =>
  rows.map(({ id, version, destroyedAtEpochMs }) => [id, version, destroyedAtEpochMs !== undefined]);

describe('one conversation_id under two tenants (B42, B37, R3.2)', () => {
  it('has two keys; destroying one erases that tenant’s messages and leaves the other’s, read and written', async () => {
    const { program, id } = await ofTwoTenants();
    const listed = async () => keysIn((await program.run(['keys', 'list', 'conversation', '--json'])).rows);
    expect(await listed()).toEqual([
      [`${TENANT}/${id}`, 1, false],
      [`${OTHER_TENANT}/${id}`, 1, false],
    ]);
    const destroyed = await program.run(['keys', 'destroy', 'conversation', `${TENANT}/${id}`, '1', '--yes']);
    expect(destroyed.out).toBe(`destroyed conversation/${TENANT}/${id}/1`);
    expect(await listed()).toEqual([
      [`${TENANT}/${id}`, 1, true],
      [`${OTHER_TENANT}/${id}`, 1, false],
    ]);

    const shown = async (of: string) => (await program.run(['history', id, '--tenant', of, '--content'])).out;
    expect(await shown(TENANT)).toContain('ERASED');
    expect(await shown(TENANT)).not.toContain(`of ${TENANT}`);
    expect(await shown(OTHER_TENANT)).toContain(`of ${OTHER_TENANT}`);
    expect(await shown(OTHER_TENANT)).not.toContain('ERASED');

    const more = (tenant_id: string) =>
      program.run(['commit', '--json'], messageJson({ conversation_id: id, tenant_id }));
    expect((await more(OTHER_TENANT)).exitCode).toBe(0);
    expect((await more(TENANT)).rows).toMatchObject([{ error: { code: 'KEY_DESTROYED' } }]);
  });

  it('a sidecar that has both cached answers ERASED for the one, and serves the other from its cache', async () => {
    const { program, id, mine, theirs } = await ofTwoTenants();
    const under = await startSidecarUnderTest({ dataDir: program.dataDir, keyPollMs: 20 });
    onTestFinished(() => under.stop());
    const ask = async (of: string, row: Row) => (await resultOf(under.client, targetOf(of, row)))[0];
    expect(await ask(TENANT, mine)).toBe('OK');
    expect(await ask(OTHER_TENANT, theirs)).toBe('OK');
    const { bodies } = under.sidecar.cacheStats();
    await program.run(['keys', 'destroy', 'conversation', `${TENANT}/${id}`, '1', '--yes']);
    await until(async () => (await ask(TENANT, mine)) === 'ERASED');
    const { hits, bodies: left } = under.sidecar.cacheStats();
    expect(left).toBe(bodies - 1);
    expect(await ask(OTHER_TENANT, theirs)).toBe('OK');
    expect(under.sidecar.cacheStats().hits).toBe(hits + 1);
  });
});

describe('the ID of a conversation’s key', () => {
  it.each([['create'], ['rotate']])(
    'keys %s refuses a conversation_id alone, says the form, and makes nothing',
    async (verb) => {
      const { run, dataDir } = programUnderTest();
      for (const id of [randomUUID(), 'x', `${TENANT}/x`, `${TENANT}/${TENANT}/1`]) {
        const { exitCode, errors } = await run(['keys', verb, 'conversation', id]);
        expect([exitCode, errors]).toEqual([2, expect.stringContaining(FORM)]);
      }
      expect(fs.existsSync(dataDir)).toBe(false);
    },
  );

  it.each([
    [['keys', 'destroy', 'conversation', 'ID', '1', '--yes']],
    [['keys', 'list', 'conversation', 'ID']],
  ])('%j of a conversation_id alone is refused with the form, and nothing is destroyed', async (words) => {
    const { program, id } = await ofTwoTenants();
    const { exitCode, errors } = await program.run(words.map((word) => (word === 'ID' ? id : word)));
    expect([exitCode, errors]).toEqual([2, expect.stringContaining(FORM)]);
    const { rows } = await program.run(['keys', 'list', '--json']);
    expect(rows.map(({ destroyedAtEpochMs }) => destroyedAtEpochMs)).toEqual([undefined, undefined]);
  });

  it('is taken in capitals: it is the same key', async () => {
    const { program, id } = await ofTwoTenants();
    const typed = `${TENANT}/${id}`.toUpperCase();
    const rotated = await program.run(['keys', 'rotate', 'conversation', typed]);
    expect(rotated.out).toBe(`rotated conversation/${TENANT}/${id}/2`);
    const again = await program.run(['keys', 'create', 'conversation', typed]);
    expect([again.exitCode, again.errors]).toEqual([1, expect.stringContaining('KEY_EXISTS')]);
    const { rows } = await program.run(['keys', 'list', 'conversation', typed, '--json']);
    expect(keysIn(rows).map(([, version]) => version)).toEqual([1, 2]);
  });

  it('of another form is taken where such a key is there: what keys list prints can be destroyed', async () => {
    const { program } = await ofTwoTenants();
    const opened = await openEmbedded(program.dataDir, systemClock);
    const dekId = { scope: 'conversation', id: randomUUID(), version: 1 };
    await opened.keys.insert({
      ...{ dekId, wrapped: new Uint8Array(73) },
      ...{ createdAtEpochMs: 0, destroyedAtEpochMs: undefined },
    });
    await opened.close();
    const { out } = await program.run(['keys', 'destroy', 'conversation', dekId.id, '1', '--yes']);
    expect(out).toBe(`destroyed conversation/${dekId.id}/1`);
  });
});
