/**
 * A file that was named and that the system does not give: CONFIG_INVALID with its path and the system's own name of the
 * reason, such as ENOENT. No retry helps before somebody looks at the path.
 */
import { MailjoinError } from '../domain/errors.js';

/** `what` says what was tried, such as "cannot be read". */
export function fileProblem(path: string, what: string, cause: unknown): MailjoinError {
  return new MailjoinError('CONFIG_INVALID', `the file ${path} ${what} (${errnoOf(cause)})`, { cause });
}

/** The system's name of the reason; "unknown" for what is no failure of the system. */
export function errnoOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}
