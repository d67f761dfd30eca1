/**
 * What brokers will go on refusing until somebody changes settings, users or rights, told by the protocol's own names,
 * kafkajs' classes and OpenSSL's codes, never by text: LOG_REFUSED or TLS_FAILED. And what no reader here can ever read:
 * LOG_CORRUPT. Whatever else fails may pass.
 */
import kafkajs from 'kafkajs';
import { MailjoinError } from '../domain/errors.js';
import { tlsAnswer } from '../tls/tls-answer.js';
import {
  isLastingTlsFailure,
  type TlsSettingNames,
  tlsError,
  tlsFailureCode,
  tlsUnknown,
  tlsWanted,
} from '../tls/tls-failure.js';
import type { KafkaConnectOptions } from './kafka-client.js';

/** What the settings are called to whoever gave them. */
const NAMES: TlsSettingNames = {
  tls: 'brokersTls',
  ca: 'brokersCaFile',
  cert: 'brokersCertFile',
  key: 'brokersKeyFile',
  serverName: undefined,
};
const ADVICE = new Map([
  ['SASL_AUTHENTICATION_FAILED', 'user or password is wrong'],
  ['UNSUPPORTED_SASL_MECHANISM', 'they do not take the mechanism of brokersSasl'],
  ['ILLEGAL_SASL_STATE', 'they take no SASL here; leave brokersSasl out, or name another port'],
  ['TOPIC_AUTHORIZATION_FAILED', 'this user may not do that with the topic'],
  ['GROUP_AUTHORIZATION_FAILED', 'this user may not join the consumer group'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'this user may not do that in the cluster'],
]);
/** kafkajs opens gzip alone. Writers here compress nothing, so it is the brokers or a foreign writer that did. */
const UNREADABLE =
  'its batch is compressed in a way that is not known here; set the topic’s compression.type to producer, after which ' +
  'new records can be read again, and those before it only by others';
const ASK_TIMEOUT_MS = 2_000;
const HOST_AND_PORT = /^(.+):(\d+)$/;

/** The protocol's name of the error at the root of what kafkajs threw ('NOT_LEADER_FOR_PARTITION'), if it has one. */
export function protocolName(error: unknown): string | undefined {
  for (const each of causesOf(error)) {
    if ('type' in each && typeof each.type === 'string') return each.type;
    // Of a failed exchange kafkajs keeps no name. One that broke off in its midst, which is rare, looks the same.
    if (each instanceof kafkajs.KafkaJSSASLAuthenticationError) return 'SASL_AUTHENTICATION_FAILED';
  }
  return undefined;
}

/** The coded error of what trying again does not change; undefined for everything else. */
export function refusalOf(error: unknown): MailjoinError | undefined {
  if (error instanceof MailjoinError) {
    return error.code === 'LOG_REFUSED' || error.code === 'TLS_FAILED' ? error : undefined;
  }
  if (causesOf(error).some((each) => each instanceof kafkajs.KafkaJSNotImplemented)) {
    return new MailjoinError('LOG_CORRUPT', UNREADABLE, { cause: error });
  }
  const code = tlsFailureCode(error);
  if (code !== undefined && isLastingTlsFailure(code)) return tlsErrorOf(code, error);
  const name = protocolName(error) ?? '';
  const advice = ADVICE.get(name);
  return advice === undefined ? undefined : refused(`${advice} (${name})`, error);
}

/** TOPIC_MISSING for what brokers answer of a topic that they do not have; of one just made some do so for a moment. */
export function missingTopic(error: unknown, topic: string): MailjoinError | undefined {
  if (protocolName(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
  return new MailjoinError('TOPIC_MISSING', `${topic}; mailjoin topic apply makes it`, { cause: error });
}

/**
 * The same at a start, when somebody looks: every handshake that fails is told, also one that may pass, and it is worth a
 * question more where a broker closes connections without a word: it may want TLS, may not know it, or may want SASL.
 */
export async function refusalAtStart(
  error: unknown,
  { tls, sasl, brokers }: KafkaConnectOptions,
): Promise<MailjoinError | undefined> {
  const code = tlsFailureCode(error);
  const told = refusalOf(error) ?? (code === undefined ? undefined : tlsErrorOf(code, error));
  if (told !== undefined || !isClosedByBroker(error)) return told;
  const peer = brokerOf(error) ?? brokers[0] ?? '';
  const [, host = '', port] = HOST_AND_PORT.exec(peer) ?? [];
  const answer = await tlsAnswer(host, Number(port), ASK_TIMEOUT_MS);
  if (answer === 'none') return undefined;
  if (tls === undefined && answer === 'tls') return tlsWanted(peer, NAMES, error);
  if (tls !== undefined && answer === 'other') return tlsUnknown(peer, NAMES, error);
  if (sasl !== undefined) return undefined;
  return refused(`${peer} closes the connection; it may ask for credentials, which brokersSasl gives`, error);
}

function tlsErrorOf(code: string, cause: unknown): MailjoinError {
  return tlsError(code, brokerOf(cause) ?? 'a broker', NAMES, cause);
}

function refused(detail: string, cause: unknown): MailjoinError {
  return new MailjoinError('LOG_REFUSED', detail, { cause });
}

/** True for a connection that was opened, and which the broker ended. */
function isClosedByBroker(error: unknown): boolean {
  return causesOf(error).some(
    // Its class is missing in kafkajs' types.
    (each) => each.name === 'KafkaJSConnectionClosedError' || ('code' in each && each.code === 'ECONNRESET'),
  );
}

function brokerOf(error: unknown): string | undefined {
  for (const each of causesOf(error)) {
    if ('broker' in each && typeof each.broker === 'string') return each.broker;
  }
  return undefined;
}

/** An error and what lies beneath it; of several that came together the first. */
function causesOf(error: unknown): Error[] {
  const found: Error[] = [];
  for (let each: unknown = error; each instanceof Error; each = beneath(each)) found.push(each);
  return found;
}

function beneath(error: Error): unknown {
  // Its class is typed for deletions of records alone; makers of topics throw it as well.
  if ('errors' in error && Array.isArray(error.errors)) return error.errors[0];
  return error.cause;
}
