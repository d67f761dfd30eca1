// What a PEM file must hold, and that what it holds is never told.
import { generateKeyPairSync } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isKeyOf, readCertificates, readPrivateKey } from '../../src/tls/pem-files.js';
import { temporaryDirectory } from '../server/server-fixture.js';
import { issue, makeAuthority } from '../services/certificates.js';

const directory = temporaryDirectory();
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

function file(content: string): string {
  const name = path.join(directory, `${fs.readdirSync(directory).length}.pem`);
  fs.writeFileSync(name, content);
  return name;
}

const authority = makeAuthority('an authority');
const one = issue(authority, 'one', ['one.test']);
const locked = generateKeyPairSync('ec', {
  namedCurve: 'prime256v1',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
}).privateKey;
const broken = one.cert.replace(/\n[A-Za-z0-9+/]{20}/, `\n${'A'.repeat(20)}`);

describe('a file of certificates is refused', () => {
  it.each<[string, string, string]>([
    ['when it is not there', path.join(directory, 'none'), 'cannot be read'],
    ['when it is a folder', directory, 'cannot be read'],
    ['when it is empty', file(''), 'holds no certificate in PEM'],
    ['when it holds a key only', file(one.key), 'holds no certificate in PEM'],
    ['when one of several is broken', file(one.cert + broken), 'holds a certificate that cannot be decoded'],
  ])('%s', (_, name, problem) => {
    expect(readCertificates(name)).toEqual({ problem });
  });
});

describe('a file of a key is refused', () => {
  it.each<[string, string, string]>([
    ['when it is not there', path.join(directory, 'none'), 'cannot be read'],
    ['when it holds a certificate only', file(one.cert), 'holds no private key in PEM'],
    ['when it is encrypted', file(locked), 'is encrypted; the key is taken without a passphrase only'],
    ['when it is cut off', file(one.key.slice(0, 60)), 'holds a key that cannot be decoded'],
  ])('%s', (_, name, problem) => {
    expect(readPrivateKey(name)).toEqual({ problem });
  });
});

describe('PEM files', () => {
  it('may hold several certificates with text around them', () => {
    const pem = `# ours\n${authority.cert}\n# theirs\n${one.cert}`;
    expect(readCertificates(file(pem))).toEqual({ pem });
    expect(readPrivateKey(file(one.key))).toEqual({ pem: one.key });
  });

  it('belong together only when the key is that of the first certificate', () => {
    expect(isKeyOf(one.cert + authority.cert, one.key)).toBe(true);
    expect(isKeyOf(one.cert + authority.cert, authority.key)).toBe(false);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(isKeyOf(one.cert, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toBe(false);
  });
});
