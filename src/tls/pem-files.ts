/**
 * Certificates and keys in PEM files, read whole and looked at before anything is connected with them. What is wrong is
 * told in words that hold nothing of the content.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type PemFile = { readonly pem: string } | { readonly problem: string };

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** The labels of RFC 7468, section 11, and of RFC 1421. */
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** One certificate or several, each of which can be read. */
export function readCertificates(path: string): PemFile {
  const pem = contentOf(path);
  if (pem === undefined) return { problem: 'cannot be read' };
  const found = pem.match(CERTIFICATE) ?? [];
  if (found.length === 0) return { problem: 'holds no certificate in PEM' };
  return found.every((each) => certificateOf(each) !== undefined)
    ? { pem }
    : { problem: 'holds a certificate that cannot be decoded' };
}

/** A private key without passphrase. */
export function readPrivateKey(path: string): PemFile {
  const pem = contentOf(path);
  if (pem === undefined) return { problem: 'cannot be read' };
  const key = privateKeyOf(pem);
  return typeof key === 'string' ? { problem: key } : { pem };
}

/** Whether a key is that of a file's first certificate, which is the one that is shown. */
export function isKeyOf(certificates: string, privateKey: string): boolean {
  const certificate = certificateOf(certificates.match(CERTIFICATE)?.[0] ?? '');
  const key = privateKeyOf(privateKey);
  return certificate !== undefined && typeof key !== 'string' && certificate.checkPrivateKey(key);
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** The key, or what is wrong with it. */
function privateKeyOf(pem: string): KeyObject | string {
  if (!pem.includes('PRIVATE KEY-----')) return 'holds no private key in PEM';
  if (ENCRYPTED.test(pem)) return 'is encrypted; the key is taken without a passphrase only';
  try {
    return createPrivateKey(pem);
  } catch {
    return 'holds a key that cannot be decoded';
  }
}
