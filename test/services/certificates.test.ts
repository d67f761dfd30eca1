// The certificates of the TLS tests are ones that Node itself reads and trusts.
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { issue, makeAuthority } from './certificates.js';

describe('certificates of tests', () => {
  const authority = makeAuthority('an authority');

  it('are signed by their authority and by no other of the same name', () => {
    const certificate = new X509Certificate(issue(authority, 'a server', ['127.0.0.1']).cert);
    expect(certificate.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
    expect(certificate.verify(new X509Certificate(makeAuthority('an authority').cert).publicKey)).toBe(false);
    expect(certificate.checkIssued(new X509Certificate(authority.cert))).toBe(true);
    expect([certificate.ca, new X509Certificate(authority.cert).ca]).toEqual([false, true]);
  });

  it('name hosts and addresses', () => {
    const certificate = new X509Certificate(issue(authority, 'a server', ['127.0.0.1', 'node.test']).cert);
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkIP('127.0.0.2')).toBeUndefined();
    expect(certificate.checkHost('node.test')).toBe('node.test');
  });

  it('expire', () => {
    const { validTo } = new X509Certificate(issue(authority, 'a server', [], -1_000).cert);
    expect(Date.parse(validTo)).toBeLessThan(Date.now());
  });
});
