/**
 * Why no connection to the cluster came about, when the driver has given up: a data centre that is none, credentials that
 * are refused, TLS that fails or that only one side speaks. As with refusals, one node that says so is enough, however
 * many others were unreachable. Whatever stays unknown is STORE_UNAVAILABLE.
 */
import { MailjoinError } from '../domain/errors.js';
import { type TlsAnswer, tlsAnswer } from '../tls/tls-answer.js';
import { type TlsSettingNames, tlsError, tlsFailureCode, tlsUnknown, tlsWanted } from '../tls/tls-failure.js';
import { hostErrors, isUnknownDataCenter, storeError } from './driver-errors.js';
import type { CqlConnectOptions } from './options.js';

const NAMES: TlsSettingNames = {
  tls: 'tls',
  ca: 'tlsCaFile',
  cert: 'tlsCertFile',
  key: 'tlsKeyFile',
  serverName: 'tlsServerName',
};
/** The driver has waited already; this only tells why it did. */
const ASK_TIMEOUT_MS = 2_000;
const HOST_AND_PORT = /^(.+):(\d+)$/;

export async function connectError(cause: unknown, { tls }: CqlConnectOptions): Promise<MailjoinError> {
  if (isUnknownDataCenter(cause)) {
    return new MailjoinError('CONFIG_INVALID', 'localDataCenter is not a data centre of this cluster', {
      cause,
    });
  }
  const error = storeError(cause);
  if (error.code !== 'STORE_UNAVAILABLE') return error;
  const failures = hostErrors(cause);
  for (const [peer, reason] of failures) {
    const code = tlsFailureCode(reason);
    if (code !== undefined) return tlsError(code, peer, NAMES, cause);
  }
  const [first] = failures;
  if (first === undefined) return error;
  const [peer] = first;
  const answer = await askedInTls(peer);
  if (tls === undefined) return answer === 'tls' ? tlsWanted(peer, NAMES, cause) : error;
  return answer === 'other' ? tlsUnknown(peer, NAMES, cause) : error;
}

async function askedInTls(peer: string): Promise<TlsAnswer> {
  const [, host, port] = HOST_AND_PORT.exec(peer) ?? [];
  return host === undefined || port === undefined ? 'none' : tlsAnswer(host, Number(port), ASK_TIMEOUT_MS);
}
