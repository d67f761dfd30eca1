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
/** The version in the middle is that of OpenSSL's time, not of the connection: SSLV3, TLSV1, TLSV13 or SSL/TLS. */
const ALERT = /^ERR_SSL_[^_]+_ALERT_/;
/** Alerts (RFC 8446, section 6.2) on certificates or on what both sides speak. Others may be a server's bad moment. */
const LASTING_ALERT =
  /^ERR_SSL_[^_]+_(ALERT_)?(HANDSHAKE_FAILURE|NO_CERTIFICATE|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA|ACCESS_DENIED|PROTOCOL_VERSION|INSUFFICIENT_SECURITY|UNRECOGNIZED_NAME)$/;
/** What our own side refuses of a server's. */
const NO_COMMON_GROUND = new Set([
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_WRONG_SSL_VERSION',
  'ERR_SSL_NO_CIPHERS_AVAILABLE',
  'ERR_SSL_CERTIFICATE_VERIFY_FAILED',
  'ERR_SSL_DH_KEY_TOO_SMALL',
  'ERR_SSL_EE_KEY_TOO_SMALL',
]);

/** The code of a failed TLS connection in an error or its causes; undefined when it failed for another reason. */
export function tlsFailureCode(error: unknown): string | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const code = 'code' in each && typeof each.code === 'string' ? each.code : '';
    if (isOfCertificate(code) || code.startsWith('ERR_SSL_') || code === 'EPROTO') return code;
  }
  return undefined;
}

/** Whether trying again cannot help before somebody has changed certificates or settings. */
export function isLastingTlsFailure(code: string): boolean {
  return isOfCertificate(code) || NO_TLS.has(code) || NO_COMMON_GROUND.has(code) || LASTING_ALERT.test(code);
}

function isOfCertificate(code: string): boolean {
  return UNTRUSTED.has(code) || OUT_OF_TIME.has(code) || OTHER_HOST.has(code);
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
