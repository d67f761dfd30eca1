// Failures as Node's own TLS tells them, each with the setting that it leads to.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import {
  isLastingTlsFailure,
  type TlsSettingNames,
  tlsError,
  tlsFailureCode,
} from '../../src/tls/tls-failure.js';
import { nodeTlsOptions, type TlsOptions } from '../../src/tls/tls-options.js';
import { issue, makeAuthority } from '../services/certificates.js';
import { listen, tlsServer } from './tls-servers.js';

const NAMES: TlsSettingNames = {
  tls: 'tls',
  ca: 'caFile',
  cert: 'certFile',
  key: 'keyFile',
  serverName: 'serverName',
};
const authority = makeAuthority('an authority');
const PLAIN: TlsOptions = {
  ca: authority.cert,
  client: undefined,
  serverName: undefined,
  verifiesHost: true,
};
const server = (hosts: readonly string[], lifeMs?: number) => {
  const { cert, key } = issue(authority, 'server', hosts, lifeMs);
  return { cert, key };
};

/** undefined when a byte of the server's came through. */
async function failure(port: number, options: TlsOptions): Promise<unknown> {
  const socket = tls.connect({ host: '127.0.0.1', port, ...nodeTlsOptions(options) });
  try {
    await once(socket, 'data');
    return undefined;
  } catch (error) {
    return error;
  } finally {
    socket.destroy();
  }
}

/** Says hello to whoever it takes. */
function greeting(options: tls.TlsOptions): Promise<number> {
  return listen(tls.createServer(options, (socket) => socket.write('hello')).on('tlsClientError', () => {}));
}

describe('a TLS connection that fails', () => {
  it.each<[string, () => Promise<number>, Partial<TlsOptions>, string]>([
    ['for an unknown authority', () => tlsServer(server(['127.0.0.1'])), { ca: undefined }, 'caFile'],
    ['for another host', () => tlsServer(server(['10.0.0.1', 'node.test'])), {}, 'serverName'],
    ['for another name', () => tlsServer(server(['127.0.0.1'])), { serverName: 'a.test' }, 'serverName'],
    ['for a certificate that is over', () => tlsServer(server(['127.0.0.1'], -1_000)), {}, 'expired'],
    [
      'for a client certificate that is missing (TLS 1.3)',
      () => tlsServer({ ...server(['127.0.0.1']), ca: authority.cert, requestCert: true }),
      {},
      'certFile and keyFile',
    ],
    [
      'for a client certificate that is missing (TLS 1.2)',
      () =>
        tlsServer({ ...server(['127.0.0.1']), ca: authority.cert, requestCert: true, maxVersion: 'TLSv1.2' }),
      {},
      'certFile and keyFile',
    ],
    [
      'for a server of the past',
      () => tlsServer({ ...server(['127.0.0.1']), minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }),
      {},
      '1.2 or later',
    ],
    [
      'for a server without TLS',
      () => listen(net.createServer((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))),
      {},
      'turn tls off',
    ],
  ])('%s', async (_, start, options, advice) => {
    const error = await failure(await start(), { ...PLAIN, ...options });
    const code = tlsFailureCode(new Error('what a driver makes of it', { cause: error })) ?? 'none';
    const coded = tlsError(code, '127.0.0.1:1', NAMES, error);
    expect([coded.code, coded.message]).toEqual(['TLS_FAILED', expect.stringContaining(advice)]);
    expect(coded.message).toContain(code);
    expect(isLastingTlsFailure(code)).toBe(true);
  });

  /** Numbers of RFC 8446, section 6, as a server sends them instead of its part of the handshake. */
  it.each([
    ['handshake_failure', 40, true],
    ['bad_certificate', 42, true],
    ['unsupported_certificate', 43, true],
    ['certificate_revoked', 44, true],
    ['certificate_expired', 45, true],
    ['certificate_unknown', 46, true],
    ['unknown_ca', 48, true],
    ['access_denied', 49, true],
    ['protocol_version', 70, true],
    ['insufficient_security', 71, true],
    ['unrecognized_name', 112, true],
    ['certificate_required', 116, true],
    ['unexpected_message', 10, false],
    ['decode_error', 50, false],
    ['internal_error', 80, false],
  ])('by the alert %s (%d): for good: %s', async (_, alert, isLasting) => {
    const alerting = net.createServer((socket) => {
      socket.once('data', () => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, alert])));
    });
    const code = tlsFailureCode(await failure(await listen(alerting), PLAIN)) ?? expect.fail('it has a code');
    expect([code, isLastingTlsFailure(code)]).toEqual([code, isLasting]);
  });

  it.each([
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', true],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', false],
    ['EPROTO', false],
  ])('%s, as other versions of OpenSSL and Node have it, for good: %s', (code, isLasting) => {
    expect(isLastingTlsFailure(code)).toBe(isLasting);
  });

  it('is nothing else: a connection that is refused has no such code', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(tlsFailureCode(refused)).toBeUndefined();
  });
});

describe('a TLS connection that comes about', () => {
  it('with the host in the certificate, with a name that it has, or with any name where that is allowed', async () => {
    const port = await greeting(server(['127.0.0.1', 'node.test']));
    expect(await failure(port, PLAIN)).toBeUndefined();
    expect(await failure(port, { ...PLAIN, serverName: 'node.test' })).toBeUndefined();
    const nameless = await greeting(server(['elsewhere.test']));
    expect(await failure(nameless, { ...PLAIN, verifiesHost: false })).toBeUndefined();
  });

  it('with a client certificate, where one is asked for', async () => {
    const options = { ...server(['127.0.0.1']), ca: authority.cert, requestCert: true };
    const client = issue(authority, 'client', []);
    expect(await failure(await greeting(options), { ...PLAIN, client })).toBeUndefined();
  });

  it('never without an authority, also where any name is taken', async () => {
    const port = await greeting(server(['127.0.0.1']));
    const error = await failure(port, { ...PLAIN, ca: undefined, verifiesHost: false });
    expect(tlsFailureCode(error)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });
});
