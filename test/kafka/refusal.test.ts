// What a handshake that fails means: in the midst of work only what cannot pass ends it, at a start all of it is told.
import net from 'node:net';
import { expect, it } from 'vitest';
import { kafkaClient } from '../../src/kafka/kafka-client.js';
import { asLogError } from '../../src/kafka/kafka-errors.js';
import { refusalAtStart, refusalOf } from '../../src/kafka/refusal.js';
import { listen } from '../tls/tls-servers.js';

const TLS = { ca: undefined, client: undefined, serverName: undefined, verifiesHost: true };
const INTERNAL_ERROR = 80;
const UNKNOWN_CA = 48;

/** What the client makes of a broker that answers a handshake with an alert. */
async function failureBy(alert: number) {
  const broker = net.createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, alert])));
  });
  const connect = { brokers: [`127.0.0.1:${await listen(broker)}`], tls: TLS };
  const admin = kafkaClient({ ...connect, timeoutMs: 1_000 }).admin({ retry: { retries: 0 } });
  const error: unknown = await admin.connect().then(
    () => expect.fail('a broker that speaks no Kafka'),
    (reason: unknown) => reason,
  );
  await admin.disconnect();
  return { error, connect };
}

it('a broker that fails within itself while it starts again is an outage, which passes; a start tells it', async () => {
  const { error, connect } = await failureBy(INTERNAL_ERROR);
  expect(refusalOf(error)).toBeUndefined();
  expect(asLogError(error, 'reading')).toMatchObject({ code: 'LOG_UNAVAILABLE', retryable: true });
  expect(await refusalAtStart(error, connect)).toMatchObject({
    code: 'TLS_FAILED',
    message: expect.stringContaining('INTERNAL_ERROR'),
  });
});

it('one that does not know who signed our certificate is a refusal, whenever it says so', async () => {
  const { error, connect } = await failureBy(UNKNOWN_CA);
  expect(refusalOf(error)).toMatchObject({ code: 'TLS_FAILED' });
  expect(await refusalAtStart(error, connect)).toMatchObject({
    code: 'TLS_FAILED',
    message: expect.stringContaining('brokersCertFile'),
  });
});
