/**
 * A real Cassandra and a real Kafka that speak nothing but TLS to clients, each of one test file: with certificates that
 * are made for it in a folder of its own, and users that are the same everywhere.
 */
import fs from 'node:fs';
import path from 'node:path';
import { type Cassandra, startCassandra } from '../../src/provision/cassandra.js';
import { freePorts } from '../../src/provision/free-ports.js';
import { type Kafka, startKafka } from '../../src/provision/kafka.js';
import type { TlsOptions } from '../../src/tls/tls-options.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { type Certificate, issue, makeAuthority } from './certificates.js';

const HOST = '127.0.0.1';
/** What the servers' certificates have beside their address. */
export const SERVER_NAME = 'server.test';
/** Of every user here; looked for where it must not appear. */
export const PASSWORD = 'pass-word-of-tests';

/** PEM files: what the servers show, what clients trust and show, and the same from an authority that nobody trusts. */
export class TlsFiles {
  readonly #folder = temporaryDirectory();
  readonly #authority = makeAuthority('authority of tests');
  readonly #stranger = makeAuthority('authority of nobody');
  readonly ca = this.#file('ca.pem', this.#authority.cert);
  readonly strangerCa = this.#file('stranger-ca.pem', this.#stranger.cert);
  readonly server = this.#pair('server', issue(this.#authority, 'server', [HOST, SERVER_NAME]));
  readonly client = this.#pair('client', issue(this.#authority, 'client', []));
  readonly stranger = this.#pair('stranger', issue(this.#stranger, 'stranger', []));
  readonly passwordFile = this.#file('password', PASSWORD);
  readonly wrongPasswordFile = this.#file('wrong-password', `not-${PASSWORD}`);

  path(name: string): string {
    return path.join(this.#folder, name);
  }

  /** What a client is given that trusts these servers and checks their names. */
  options(over: Partial<TlsOptions> = {}): TlsOptions {
    return {
      ca: fs.readFileSync(this.ca, 'utf8'),
      client: undefined,
      serverName: undefined,
      verifiesHost: true,
      ...over,
    };
  }

  remove(): void {
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  #pair(name: string, { cert, key }: Certificate) {
    return {
      cert: this.#file(`${name}.pem`, cert),
      key: this.#file(`${name}.key`, key),
      both: this.#file(`${name}-both.pem`, key + cert),
    };
  }

  #file(name: string, content: string): string {
    fs.writeFileSync(this.path(name), content);
    return this.path(name);
  }
}

/** With `asks`, clients need a certificate of the authority and Cassandra's own first user, cassandra. */
export function startTlsCassandra(files: TlsFiles, { asks }: { readonly asks: boolean }): Promise<Cassandra> {
  return startCassandra({
    heapMb: 512,
    yaml: [
      'client_encryption_options:',
      '  enabled: true',
      '  optional: false',
      '  ssl_context_factory:',
      '    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory',
      `  keystore: ${files.server.both}`,
      `  truststore: ${files.ca}`,
      `  require_client_auth: ${asks}`,
      ...(asks ? ['authenticator: PasswordAuthenticator'] : []),
    ],
  });
}

export interface TlsKafka {
  /** SASL_SSL: alice may do all, bob nothing that alice has not allowed him. */
  readonly contactPoint: string;
  /** SSL: a client's certificate is its user, and may do all. */
  readonly certificateContactPoint: string;
  stop(): Promise<void>;
}

const MECHANISMS = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

export async function startTlsKafka(files: TlsFiles): Promise<TlsKafka> {
  const [broker = 0, controller = 0, certificates = 0] = await freePorts(3, [HOST]);
  const listeners = `SASL_SSL://${HOST}:${broker},SSL://${HOST}:${certificates}`;
  const security = 'org.apache.kafka.common.security';
  const scram = `${security}.scram.ScramLoginModule required;`;
  const kafka: Kafka = await startKafka({
    ports: { broker, controller },
    heapMb: 256,
    scramUsers: ['alice', 'bob'].flatMap((user) =>
      MECHANISMS.map((mechanism) => `${mechanism}=[name=${user},password=${PASSWORD}]`),
    ),
    properties: {
      listeners: `${listeners},CONTROLLER://${HOST}:${controller}`,
      'advertised.listeners': listeners,
      'listener.security.protocol.map': 'SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT',
      'inter.broker.listener.name': 'SSL',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': files.server.both,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': files.ca,
      'listener.name.ssl.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': ['PLAIN', ...MECHANISMS].join(','),
      'listener.name.sasl_ssl.plain.sasl.jaas.config': `${security}.plain.PlainLoginModule required user_alice="${PASSWORD}" user_bob="${PASSWORD}";`,
      'listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config': scram,
      'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': scram,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // ANONYMOUS is the node itself, on its controller's listener.
      'super.users': 'User:alice;User:CN=client;User:CN=server;User:ANONYMOUS',
    },
  });
  return {
    contactPoint: `${HOST}:${broker}`,
    certificateContactPoint: `${HOST}:${certificates}`,
    stop: () => kafka.stop(),
  };
}
