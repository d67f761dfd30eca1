// What a PEM file must hold, and that what it holds is never told.
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { certificatesProblem, isKeyOf, privateKeyProblem } from '../../src/tls/pem-files.js';
import { issue, makeAuthority } from '../services/certificates.js';

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
    ['when it is empty', '', 'holds no certificate in PEM'],
    ['when it holds a key only', one.key, 'holds no certificate in PEM'],
    ['when one of several is broken', one.cert + broken, 'holds a certificate that cannot be decoded'],
  ])('%s', (_, pem, problem) => {
    expect(certificatesProblem(pem)).toBe(problem);
  });
});

describe('a file of a key is refused', () => {
  it.each<[string, string, string]>([
    ['when it holds a certificate only', one.cert, 'holds no private key in PEM'],
    ['when it is encrypted', locked, 'is encrypted; the key is taken without a passphrase only'],
    ['when it is cut off', one.key.slice(0, 60), 'holds a key that cannot be decoded'],
  ])('%s', (_, pem, problem) => {
    expect(privateKeyProblem(pem)).toBe(problem);
  });
});

describe('PEM files', () => {
  it('may hold several certificates with text around them', () => {
    const pem = `# ours\n${authority.cert}\n# theirs\n${one.cert}`;
    expect(certificatesProblem(pem)).toBeUndefined();
    expect(privateKeyProblem(one.key)).toBeUndefined();
  });

  it('belong together only when the key is that of the first certificate', () => {
    expect(isKeyOf(one.cert + authority.cert, one.key)).toBe(true);
    expect(isKeyOf(one.cert + authority.cert, authority.key)).toBe(false);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(isKeyOf(one.cert, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toBe(false);
  });
});
