/**
 * The program and the library on a real Cassandra that asks for certificate and password, and a real Kafka that asks for
 * a password, both in TLS alone: from the schema to a body that is joined, and what they say when one of these is wrong.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSidecar } from '../../src/cli/compose.js';
import { openWriter } from '../../src/cli/library.js';
import { loadSettings } from '../../src/cli/load-settings.js';
import { environmentOf, type SettingName, type Settings } from '../../src/cli/settings.js';
import { cqlConnectOptions } from '../../src/cli/stores.js';
import { brokersReached } from '../../src/cli/tls-settings.js';
import { MailjoinClient } from '../../src/client/index.js';
import { connectCql } from '../../src/cql/session.js';
import { createKekFile } from '../../src/crypto/kek-file.js';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import type { Cassandra } from '../../src/provision/cassandra.js';
import { SILENT_LOG } from '../../src/server/log.js';
import { resultOf } from '../follow/sidecars.js';
import { exchange, httpRequest, temporaryDirectory } from '../server/server-fixture.js';
import { describeWithCassandra } from '../services/cassandra.js';
import { describeWithKafka } from '../services/kafka.js';
import {
  PASSWORD,
  startTlsCassandra,
  startTlsKafka,
  TlsFiles,
  type TlsKafka,
} from '../services/tls-services.js';
import { conversation, tenant, until, user } from '../stores/fixtures.js';
import { codeOf } from '../stores/log-contract.js';
import { run } from './write-program.js';

/** A command starts, is refused and ends; this leaves room for a busy machine. */
const REFUSED_MS_MAX = 20_000;
/** Texts by setting; undefined takes one away. */
type Given = Partial<Record<SettingName, string | undefined>>;

// Only where both can be had at all; this file's tests use some of their own.
describeWithCassandra('on a Cassandra behind TLS', () => {
  describeWithKafka('and a Kafka behind TLS', () => {
    const directory = temporaryDirectory();
    const kekFile = path.join(directory, 'kek');
    const parking = ['--parking-file', path.join(directory, 'parked.jsonl')];
    let files: TlsFiles;
    let cassandra: Cassandra;
    let kafka: TlsKafka;
    let given: Given;

    const texts = (over: Given) =>
      // Object.entries widens the names that the type above has.
      (Object.entries({ ...given, ...over }) as [SettingName, string | undefined][]).filter(
        (entry): entry is [SettingName, string] => entry[1] !== undefined,
      );
    const settings = (): Settings => loadSettings({ flags: new Map(texts({})), environment: {} });
    const program = (words: readonly string[], over: Given = {}) =>
      run(
        words,
        undefined,
        Object.fromEntries(texts(over).map(([name, text]) => [environmentOf(name), text])),
      );

    beforeAll(async () => {
      await createKekFile(kekFile);
      files = new TlsFiles();
      [cassandra, kafka] = await Promise.all([
        startTlsCassandra(files, { asks: true }),
        startTlsKafka(files),
      ]);
      const firstPassword = path.join(directory, 'first-password');
      fs.writeFileSync(firstPassword, 'cassandra\n');
      given = {
        store: 'cql',
        contactPoints: cassandra.contactPoint,
        localDc: cassandra.localDataCenter,
        keyspace: `tls_${randomBytes(4).toString('hex')}`,
        storeTimeoutMs: '20000',
        username: 'cassandra',
        passwordFile: firstPassword,
        tls: 'true',
        tlsCaFile: files.ca,
        tlsCertFile: files.client.cert,
        tlsKeyFile: files.client.key,
        kekFile,
        brokers: kafka.contactPoint,
        topic: `tls-${randomBytes(4).toString('hex')}`,
        brokersTls: 'true',
        brokersCaFile: files.ca,
        brokersSasl: 'scram-sha-512',
        brokersUsername: 'alice',
        brokersPasswordFile: files.passwordFile,
        socket: path.join(directory, 'join.sock'),
        cacheBytes: String(16 * 1024 * 1024),
        workers: '1',
        logLevel: 'error',
      };
      const { topic } = settings();
      await ensureTopic({ ...brokersReached(settings()), topic, partitions: 2, replicationFactor: 1 });
      // Its first user is made a moment after it listens.
      const connect = cqlConnectOptions(settings());
      await until(async () => {
        return (await codeOf(connectCql(connect).then((session) => session.close()))) === 'resolved';
      }, 60_000);
      expect((await program(['schema', 'apply'])).exitCode).toBe(0);
    }, 240_000);
    afterAll(async () => {
      await Promise.all([cassandra?.stop(), kafka?.stop()]);
      files.remove();
      fs.rmSync(directory, { recursive: true, force: true });
    }, 60_000);

    it('a message is committed, joined by a sidecar that follows the log, and archived', async () => {
      expect((await program(['schema', 'verify'])).exitCode).toBe(0);
      // The library reads the passwords' files itself.
      const unread = { ...settings(), password: undefined, brokersPassword: undefined };
      const opened = await openWriter(unread, { log: SILENT_LOG });
      onTestFinished(async () => void (await opened.close(1_000)));
      const target = { tenantId: tenant(), conversationId: conversation() };
      const payload = Buffer.from('over two kinds of TLS');
      const committed = await opened.writer.commit({
        ...target,
        senderId: user(),
        clientMessageId: '1',
        payload,
      });

      const sidecar = await startSidecar(settings(), SILENT_LOG);
      onTestFinished(async () => void (await sidecar.stop(1_000)));
      const { socket } = settings();
      await until(async () => (await exchange(socket, httpRequest('GET', '/readyz'))).status === 200, 30_000);
      const client = new MailjoinClient({ socketPath: socket });
      onTestFinished(() => client.close());
      const result = await resultOf(client, { ...target, ...committed });
      expect(result).toEqual(['OK', payload.toString('hex')]);

      const archived = await program(['archive', '--until-end', '--json', ...parking]);
      expect([archived.exitCode, archived.rows[0]]).toEqual([0, expect.objectContaining({ messages: 1 })]);
    }, 120_000);

    describe('refuses', () => {
      it.each<[string, string[], () => Given, string, string]>([
        [
          'who shows no certificate',
          ['schema', 'verify'],
          () => ({ tlsCertFile: undefined, tlsKeyFile: undefined }),
          'TLS_FAILED',
          'tlsCertFile and tlsKeyFile',
        ],
        [
          'who shows the certificate of a stranger',
          ['schema', 'verify'],
          () => ({ tlsCertFile: files.stranger.cert, tlsKeyFile: files.stranger.key }),
          'TLS_FAILED',
          'tlsCertFile and tlsKeyFile',
        ],
        [
          'a wrong password of the store',
          ['serve'],
          () => ({ passwordFile: files.wrongPasswordFile }),
          'STORE_REFUSED',
          'credentials',
        ],
        [
          'who does not say to the store who they are',
          ['heads', '00112233-4455-6677-8899-aabbccddeeff', '7d444840-9dc0-11d1-b245-5ffdce74fad2'],
          () => ({ username: undefined, passwordFile: undefined }),
          'STORE_REFUSED',
          'credentials',
        ],
        [
          'a wrong password of the log, to who follows it',
          ['serve'],
          () => ({ brokersPasswordFile: files.wrongPasswordFile }),
          'LOG_REFUSED',
          'user or password',
        ],
        [
          'a wrong password of the log, to who writes',
          ['recover'],
          () => ({ brokersPasswordFile: files.wrongPasswordFile }),
          'LOG_REFUSED',
          'user or password',
        ],
        [
          'plain text to the log, to who joins a group',
          ['archive', ...parking],
          () => ({ brokersTls: 'false', brokersCaFile: undefined }),
          'TLS_FAILED',
          'turn brokersTls on',
        ],
      ])(
        '%s',
        async (_, words, over, code, advice) => {
          const startedAtMs = performance.now();
          const { exitCode, out, errors } = await program(words, over());
          expect(performance.now() - startedAtMs).toBeLessThan(REFUSED_MS_MAX);
          expect([exitCode, errors]).toEqual([1, expect.stringContaining(code)]);
          expect(errors).toContain(advice);
          expect(out + errors).not.toContain(PASSWORD);
          expect(fs.existsSync(settings().socket)).toBe(false);
        },
        60_000,
      );
    });
  });
});
