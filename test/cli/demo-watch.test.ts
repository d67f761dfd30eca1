/** What the demo must notice: answers that stay wrong, and old content served below the writer's floor. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watch } from '../../src/cli/demo-watch.js';
import type { MailjoinClient } from '../../src/client/index.js';
import { type SidecarUnderTest, startSidecarUnderTest } from '../client/sidecar-under-test.js';
import { firstOf } from '../follow/sidecars.js';
import { message, tenant } from '../stores/fixtures.js';

describe('watch', () => {
  let sidecar: SidecarUnderTest;
  beforeAll(async () => {
    sidecar = await startSidecarUnderTest();
  });
  afterAll(() => sidecar.stop());

  it('tells at once of a body that is served though it is not what the floor promises', async () => {
    const target = firstOf(await sidecar.write(tenant(), [1n]));
    const floor = { lastActivityId: Buffer.alloc(16) };
    const seen = await watch(sidecar.client, target, { result: 'RECALLED' }, floor);
    expect(seen.difference).toMatch(/^OK .* below the floor, instead of RECALLED$/s);
  });

  it('waits without a floor, and takes the right answer when it comes', async () => {
    const { tenantId, conversationId } = firstOf(await sidecar.write(tenant(), [1n]));
    let joins = 0;
    // The sidecar's own answers, the first two of them about a seq that is not there.
    const client: Pick<MailjoinClient, 'join'> = {
      join: (request) => {
        const seq = ++joins > 2 ? 1n : 99n;
        return sidecar.client.join({
          ...request,
          entries: request.entries.map((entry) => ({ ...entry, seq })),
        });
      },
    };
    const wrongId = { tenantId, conversationId, seq: 1n, messageId: message(Buffer.alloc(16)) };
    const seen = await watch(client, wrongId, { result: 'MISMATCH' }, undefined);
    expect(seen).toMatchObject({ answer: 'MISMATCH', difference: undefined });
    expect(joins).toBe(3);
  });
});

it('mailjoin demo ends with 0 and shows the whole life of a message', async () => {
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'demo']);
  expect(stdout).not.toContain('WRONG');
  const steps = [
    'commit ',
    'retry, same client_message_id  seq 1 again',
    'edit ',
    'two users react',
    'recall ',
    'ERASED',
  ];
  for (const step of steps) expect(stdout).toContain(step);
}, 60_000);
