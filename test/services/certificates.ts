/**
 * Certificates of the TLS tests, made when they run and good for a day: an authority, and certificates that it signed.
 * X.509 v3 by hand in DER (RFC 5280, section 4.1), on P-256 with ECDSA; node:crypto has keys and signatures, and reads
 * certificates, but makes none.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  /** PKCS #8 in PEM. */
  readonly key: string;
}

export interface Authority extends Certificate {
  readonly name: string;
}

const DAY_MS = 86_400_000;
const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const TRUE = Buffer.of(0x01, 0x01, 0xff);
const COMMON_NAME = objectId('550403');
const SUBJECT_ALT_NAME = objectId('551d11');
const BASIC_CONSTRAINTS = objectId('551d13');
const ECDSA_WITH_SHA256 = der(SEQUENCE, objectId('2a8648ce3d040302'));

export function makeAuthority(name: string): Authority {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const isAuthority = der(SEQUENCE, BASIC_CONSTRAINTS, TRUE, der(OCTET_STRING, der(SEQUENCE, TRUE)));
  return { name, ...signed(pair, name, name, pair.privateKey, isAuthority, DAY_MS) };
}

/** A certificate for host names and IPv4 addresses; one that has expired when the life is negative. */
export function issue(
  authority: Authority,
  name: string,
  hosts: readonly string[],
  lifeMs = DAY_MS,
): Certificate {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const names = hosts.map((host) =>
    isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  );
  const altNames = der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTET_STRING, der(SEQUENCE, ...names)));
  return signed(pair, name, authority.name, createPrivateKey(authority.key), altNames, lifeMs);
}

function signed(
  pair: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  subject: string,
  issuer: string,
  signer: KeyObject,
  extension: Buffer,
  lifeMs: number,
): Certificate {
  const endsAt = Date.now() + lifeMs;
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.of(2))),
    der(INTEGER, Buffer.concat([Buffer.of(0x01), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    distinguishedName(issuer),
    der(SEQUENCE, utcTime(endsAt - 2 * DAY_MS), utcTime(endsAt)),
    distinguishedName(subject),
    pair.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, extension)),
  );
  const signature = sign('sha256', body, signer);
  const whole = der(SEQUENCE, body, ECDSA_WITH_SHA256, der(BIT_STRING, Buffer.of(0), signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function distinguishedName(commonName: string): Buffer {
  return der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(commonName)))));
}

/** YYMMDDhhmmssZ */
function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}

function objectId(hex: string): Buffer {
  return der(OBJECT_ID, Buffer.from(hex, 'hex'));
}

/** Tag, length, content (X.690, section 8.1); nothing here is as long as 64 KiB. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
