/**
 * Why a TLS connection did not come about, by the codes of Node and OpenSSL, never by text, and the coded error that
 * says which setting to look at.
 */
import { MailjoinError } from '../domain/errors.js';

/** What the settings are called to whoever gave them. */
export interface TlsSettingNames {
  readonly tls: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** undefined: a server's certificate has to name the host. */
  readonly serverName: string | undefined;
}

/** OpenSSL's findings on a certificate (X509_V_ERR_*), as Node names them. */
const UNTRUSTED = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'CERT_REJECTED',
  'CERT_UNTRUSTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
]);
const OUT_OF_TIME = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);
const OTHER_HOST = new Set(['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH']);
/** What the first bytes of another protocol look like to OpenSSL. */
const NO_TLS = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
]);
const ALERT = /^ERR_SSL_\w+_ALERT_/;

/** The code of a failed TLS connection in an error or its causes; undefined when it failed for another reason. */
export function tlsFailureCode(error: unknown): string | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const code = 'code' in each && typeof each.code === 'string' ? each.code : '';
    if (UNTRUSTED.has(code) || OUT_OF_TIME.has(code) || OTHER_HOST.has(code)) return code;
    if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return code;
  }
  return undefined;
}

/** True for what a server sends to end a handshake: it speaks TLS. */
export function isTlsAlert(code: string): boolean {
  return ALERT.test(code);
}

/** TLS_FAILED for a connection to `peer` (host:port) that failed with a code of tlsFailureCode(). */
export function tlsError(code: string, peer: string, names: TlsSettingNames, cause: unknown): MailjoinError {
  return new MailjoinError('TLS_FAILED', `${peer}: ${adviceOn(code, names)} (${code})`, { cause });
}

/** TLS_FAILED for a server that is spoken to in plain text and answers TLS alone. */
export function tlsWanted(peer: string, names: TlsSettingNames, cause: unknown): MailjoinError {
  return new MailjoinError('TLS_FAILED', `${peer} speaks TLS: turn ${names.tls} on`, { cause });
}

/** TLS_FAILED for a server that ends a connection when it is spoken to in TLS. */
export function tlsUnknown(peer: string, names: TlsSettingNames, cause: unknown): MailjoinError {
  return new MailjoinError('TLS_FAILED', `${peer}: ${noTls(names)}`, { cause });
}

function noTls({ tls }: TlsSettingNames): string {
  return `it does not speak TLS; name its TLS port, or turn ${tls} off`;
}

function adviceOn(code: string, names: TlsSettingNames): string {
  if (UNTRUSTED.has(code)) return `its certificate is not trusted; ${names.ca} names the authority to trust`;
  if (OUT_OF_TIME.has(code)) return 'its certificate has expired or is not valid yet';
  if (OTHER_HOST.has(code)) {
    const otherwise = names.serverName === undefined ? '' : `; ${names.serverName} says which name it has`;
    return `its certificate does not name this host${otherwise}`;
  }
  if (NO_TLS.has(code)) return noTls(names);
  if (isTlsAlert(code)) {
    if (code.endsWith('_PROTOCOL_VERSION')) return 'it speaks no TLS of version 1.2 or later';
    // Servers do not agree on the alert for a client certificate that is missing, nor for one that they do not trust.
    return `it refused the handshake; if it asks for a client certificate, ${names.cert} and ${names.key} must hold one that it trusts`;
  }
  return 'the TLS handshake failed';
}
