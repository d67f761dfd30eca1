/**
 * Turns what the driver throws into this project's coded errors, by class and response code, never by text.
 *
 * Three answers matter to a caller: the store did not answer (asking again can help), the store refused (asking
 * again cannot), and a bug of ours. A NoHostAvailableError hides the reasons of single hosts: if any host refused,
 * the statement or the credentials are at fault, however many other hosts were unreachable.
 */
import { errors, types } from 'cassandra-driver';
import { MailjoinError } from '../domain/errors.js';

const { responseErrorCodes: Code } = types;

/** Response codes that the same statement will meet again. All others (timeouts, overload, failures) may pass. */
const REFUSALS: ReadonlySet<number> = new Set([
  Code.protocolError,
  Code.badCredentials,
  Code.functionFailure,
  Code.syntaxError,
  Code.unauthorized,
  Code.invalid,
  Code.configError,
  Code.alreadyExists,
]);

function isRefusal(cause: unknown): boolean {
  if (cause instanceof errors.AuthenticationError) return true;
  return cause instanceof errors.ResponseError && REFUSALS.has(cause.code);
}

/** Errors by host:port; values may also be texts ("considered as DOWN"), which say nothing about refusal. */
export function hostErrors(cause: unknown): readonly (readonly [host: string, reason: unknown])[] {
  if (!(cause instanceof errors.NoHostAvailableError)) return [];
  const inner: unknown = cause.innerErrors;
  return typeof inner === 'object' && inner !== null ? Object.entries(inner) : [];
}

/** True for the plain Errors by which the driver reports a broken connection. */
function isSocketError(cause: unknown): boolean {
  return cause instanceof Error && 'isSocketError' in cause && cause.isSocketError === true;
}

/** The coded error of anything that a driver call rejected with. `cause` is kept; errors of ours pass unchanged. */
export function storeError(cause: unknown): MailjoinError {
  if (cause instanceof MailjoinError) return cause;
  if (isRefusal(cause)) return new MailjoinError('STORE_REFUSED', undefined, { cause });
  if (cause instanceof errors.NoHostAvailableError) {
    const code = hostErrors(cause).some(([, reason]) => isRefusal(reason))
      ? 'STORE_REFUSED'
      : 'STORE_UNAVAILABLE';
    return new MailjoinError(code, undefined, { cause });
  }
  if (cause instanceof errors.NotSupportedError)
    return new MailjoinError('STORE_REFUSED', undefined, { cause });
  // ArgumentError is what the driver says of a call that it cannot make at all: a bug here, not an answer of the store.
  if (cause instanceof errors.ArgumentError) return new MailjoinError('INTERNAL', undefined, { cause });
  if (cause instanceof errors.DriverError || isSocketError(cause)) {
    return new MailjoinError('STORE_UNAVAILABLE', undefined, { cause });
  }
  return new MailjoinError('INTERNAL', undefined, { cause });
}

/**
 * True when connecting failed because of the one argument that the driver checks against the cluster itself: the
 * local data centre. Older checks reject with the ArgumentError, newer ones hide it among the hosts' errors.
 */
export function isUnknownDataCenter(cause: unknown): boolean {
  if (cause instanceof errors.NoHostAvailableError) {
    return hostErrors(cause).some(([, reason]) => reason instanceof errors.ArgumentError);
  }
  return cause instanceof errors.ArgumentError;
}
