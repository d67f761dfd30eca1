/** The writing commands on a real Cassandra and a real Kafka, beside a sidecar that follows the topic. */
import { randomBytes, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKekFile } from '../../src/crypto/kek-file.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { type SidecarUnderTest, startSidecarUnderTest } from '../client/sidecar-under-test.js';
import { type KeyspaceUnderTest, makeKeyspace } from '../cql/cassandra-under-test.js';
import { isReady, resultOf } from '../follow/sidecars.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { describeWithKafka } from '../services/kafka.js';
import { conversation, message, tenant, until } from '../stores/fixtures.js';
import { messageJson, operandsOf, type Row, run, TENANT } from './write-program.js';

const STORE_TIMEOUT_MS = 20_000;
const hex = (text: string): Buffer => Buffer.from(text.replaceAll('-', ''), 'hex');
const payload = (text: string): string => Buffer.from(text).toString('hex');

function targetOf({ conversation_id, conversation_seq, message_id }: Row) {
  return {
    tenantId: tenant(hex(TENANT)),
    conversationId: conversation(hex(conversation_id)),
    seq: BigInt(conversation_seq),
    messageId: message(hex(message_id)),
  };
}

describeWithCassandra('writing on Cassandra', (cassandra) => {
  describeWithKafka('and Kafka', (kafka) => {
    const directory = temporaryDirectory();
    const kekFile = path.join(directory, 'kek');
    const brokers = [kafka.contactPoint];
    const topic = `write-${randomBytes(6).toString('hex')}`;
    let keyspace: KeyspaceUnderTest;
    let sidecar: SidecarUnderTest;

    beforeAll(async () => {
      await createKekFile(kekFile);
      keyspace = await makeKeyspace(cassandra);
      await ensureTopic({ brokers, topic, partitions: 3, replicationFactor: 1 });
      sidecar = await startSidecarUnderTest({
        store: 'cql',
        contactPoints: [cassandra.contactPoint],
        localDc: cassandra.localDataCenter,
        keyspace: keyspace.keyspace,
        storeTimeoutMs: STORE_TIMEOUT_MS,
        kekFile,
        brokers,
        topic,
        // What it learns of destroyed keys, it learns from the log.
        keyPollMs: 3_600_000,
      });
      await until(() => isReady(sidecar), 30_000);
    }, 120_000);
    afterAll(async () => {
      await sidecar.stop();
      await keyspace.drop();
      fs.rmSync(directory, { recursive: true, force: true });
    });

    const program = (words: readonly string[], input?: unknown) =>
      run(words, input, {
        MAILJOIN_STORE: 'cql',
        MAILJOIN_CONTACT_POINTS: cassandra.contactPoint,
        MAILJOIN_LOCAL_DC: cassandra.localDataCenter,
        MAILJOIN_KEYSPACE: keyspace.keyspace,
        MAILJOIN_STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
        MAILJOIN_KEK_FILE: kekFile,
        MAILJOIN_BROKERS: brokers.join(','),
        MAILJOIN_TOPIC: topic,
        MAILJOIN_LOG_LEVEL: 'error',
      });

    it('B16: committed → joined and cached → edited → recalled: RECALLED without content, from then on', async () => {
      const given = messageJson({ payload_text: 'first', preview_text: 'fir' });
      const { rows } = await program(['commit', '--json'], given);
      const row = rows[0] as Row;
      expect((await program(['commit', '--json'], given)).rows).toEqual(rows);
      const target = targetOf(row);
      for (let round = 0; round < 2; round++) {
        expect(await resultOf(sidecar.client, target)).toEqual(['OK', payload('first')]);
      }
      expect((await program(['edit', ...operandsOf(row), '--text', 'second'])).exitCode).toBe(0);
      await until(async () => (await resultOf(sidecar.client, target))[1] === payload('second'));
      expect((await program(['recall'], row)).exitCode).toBe(0);
      await until(async () => (await resultOf(sidecar.client, target))[0] === 'RECALLED');
      for (let round = 0; round < 5; round++) {
        expect(await resultOf(sidecar.client, target)).toEqual(['RECALLED', undefined]);
      }
      const recovered = await program(['recover', '--json']);
      expect(recovered.rows).toMatchObject([{ recalls: 1, edits: 1, applied: 0 }]);
    }, 120_000);

    it('B37: keys destroy tells the log: ERASED, though the sidecar polls for destroyed keys once an hour', async () => {
      const conversation_id = randomUUID();
      const row = (await program(['commit', '--json'], messageJson({ conversation_id }))).rows[0] as Row;
      const target = targetOf(row);
      expect((await resultOf(sidecar.client, target))[0]).toBe('OK');
      const id = `${TENANT}/${conversation_id}`;
      const destroyed = await program(['keys', 'destroy', 'conversation', id, '1', '--yes']);
      expect([destroyed.exitCode, destroyed.errors]).toEqual([0, '']);
      await until(async () => (await resultOf(sidecar.client, target))[0] === 'ERASED');
    }, 120_000);

    it('a log that does not answer: LOG_UNAVAILABLE, said of the item or of the start, exit code 1', async () => {
      const { exitCode, errors } = await program(['commit', '--brokers', '127.0.0.1:1'], messageJson());
      expect([exitCode, errors]).toEqual([1, expect.stringContaining('LOG_UNAVAILABLE')]);
    }, 60_000);
  });
});
