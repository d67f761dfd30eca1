/** Every driver error has one coded answer, by class and code; its text plays no part. */
import { errors, types } from 'cassandra-driver';
import { describe, expect, it } from 'vitest';
import { storeError } from '../../src/cql/driver-errors.js';
import { MailjoinError } from '../../src/domain/errors.js';

const { responseErrorCodes: Code } = types;
/** A text that would mislead whoever read it. */
const TEXT = 'unconfigured table, authentication, timeout';

const response = (code: number) => new errors.ResponseError(code, TEXT);
const noHost = (...inner: unknown[]) => {
  const byHost = Object.fromEntries(inner.map((each, at) => [`127.0.0.${at}:9042`, each]));
  return new errors.NoHostAvailableError(byHost, TEXT);
};

describe('driver errors', () => {
  it.each([
    'serverError',
    'unavailableException',
    'overloaded',
    'isBootstrapping',
    'truncateError',
    'writeTimeout',
    'readTimeout',
    'readFailure',
    'writeFailure',
    'unprepared',
  ] as const)('response %s is STORE_UNAVAILABLE', (name) => {
    expect(storeError(response(Code[name])).code).toBe('STORE_UNAVAILABLE');
  });

  it.each([
    'badCredentials',
    'unauthorized',
    'syntaxError',
    'invalid',
    'configError',
    'alreadyExists',
    'protocolError',
    'functionFailure',
  ] as const)('response %s is STORE_REFUSED', (name) => {
    expect(storeError(response(Code[name])).code).toBe('STORE_REFUSED');
  });

  it('a client timeout, a busy connection and a broken socket are STORE_UNAVAILABLE', () => {
    const socket = Object.assign(new Error(TEXT), { isSocketError: true });
    for (const cause of [
      new errors.OperationTimedOutError(TEXT, 'host'),
      new errors.BusyConnectionError('host', 1, 1),
      socket,
    ]) {
      expect(storeError(cause).code).toBe('STORE_UNAVAILABLE');
    }
  });

  it('no host is STORE_UNAVAILABLE while nobody refused', () => {
    expect(storeError(noHost()).code).toBe('STORE_UNAVAILABLE');
    expect(storeError(new errors.NoHostAvailableError(null, TEXT)).code).toBe('STORE_UNAVAILABLE');
    expect(storeError(noHost('Host considered as DOWN', response(Code.overloaded))).code).toBe(
      'STORE_UNAVAILABLE',
    );
  });

  it('no host is STORE_REFUSED when one host refused, as for too long an IN list or credentials', () => {
    expect(storeError(noHost('Host considered as DOWN', response(Code.invalid))).code).toBe('STORE_REFUSED');
    expect(storeError(noHost(new errors.AuthenticationError(TEXT))).code).toBe('STORE_REFUSED');
  });

  it('what is neither the store nor the network is INTERNAL', () => {
    expect(storeError(new TypeError(TEXT)).code).toBe('INTERNAL');
    expect(storeError(new errors.ArgumentError(TEXT)).code).toBe('INTERNAL');
    expect(storeError(TEXT).code).toBe('INTERNAL');
  });

  it('keeps the cause, and passes errors of ours unchanged', () => {
    const cause = response(Code.readTimeout);
    expect(storeError(cause).cause).toBe(cause);
    const ours = new MailjoinError('SEQ_RANGE');
    expect(storeError(ours)).toBe(ours);
  });
});
