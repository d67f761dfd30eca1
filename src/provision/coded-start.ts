/**
 * What the file system or the operating system refuses while a service is started (a cache folder that is a file, a full
 * disk, no more processes) as SERVICE_START with its path; coded errors and bugs as they are.
 */
import { MailjoinError } from '../domain/errors.js';

export async function codedStart<T>(service: string, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof MailjoinError || !('syscall' in error)) throw error;
    // Such a message names the call and the path.
    throw new MailjoinError('SERVICE_START', `${service}: ${error.message}`, { cause: error });
  }
}
