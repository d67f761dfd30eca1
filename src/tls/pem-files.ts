/**
 * What files of certificates and keys in PEM hold, looked at before anything is connected with it. What is wrong is told
 * in words that hold nothing of the content. Pure.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** The labels of RFC 7468, section 11, and of RFC 1421. */
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** undefined for one certificate or several, each of which can be decoded. */
export function certificatesProblem(pem: string): string | undefined {
  const found = pem.match(CERTIFICATE) ?? [];
  if (found.length === 0) return 'holds no certificate in PEM';
  return found.every((each) => certificateOf(each) !== undefined)
    ? undefined
    : 'holds a certificate that cannot be decoded';
}

/** undefined for a private key without passphrase. */
export function privateKeyProblem(pem: string): string | undefined {
  const key = privateKeyOf(pem);
  return typeof key === 'string' ? key : undefined;
}

/** Whether a key is that of a file's first certificate, which is the one that is shown. */
export function isKeyOf(certificates: string, privateKey: string): boolean {
  const certificate = certificateOf(certificates.match(CERTIFICATE)?.[0] ?? '');
  const key = privateKeyOf(privateKey);
  return certificate !== undefined && typeof key !== 'string' && certificate.checkPrivateKey(key);
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
