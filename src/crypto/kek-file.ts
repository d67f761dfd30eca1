/**
 * The key-encryption key's file: 32 bytes as 64 hexadecimal digits or as base64, readable by its owner alone.
 *
 * Whatever is wrong with it is KEY_FILE, with the path and never the content. Permissions are read from the opened
 * file, so that it cannot be exchanged in between. Losing the file loses every key that it wraps: back it up elsewhere
 * than the messages.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { link, open, unlink } from 'node:fs/promises';
import { MailjoinError } from '../domain/errors.js';

const KEK_BYTES = 32;
const FILE_BYTES_MAX = 256;
const GROUP_AND_OTHERS = 0o077;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/]{43}=?$/;

/** Reads the KEK; the 32 bytes belong to the caller. */
export async function loadKekFile(path: string): Promise<Uint8Array> {
  const { kek, problem, cause } = readKek(path);
  if (kek === undefined) throw new MailjoinError('KEY_FILE', `${path} ${problem}`, { cause });
  return kek;
}

/** What is wrong with a KEK file, in words; undefined when nothing is. */
export function kekFileProblem(path: string): string | undefined {
  const { kek, problem } = readKek(path);
  kek?.fill(0);
  return problem;
}

/** Makes a KEK file of mode 0600 with a new random key. KEY_EXISTS when there is a file: it is never overwritten. */
export async function createKekFile(path: string): Promise<void> {
  // Written beside its place and then linked: exclusive, and nobody ever reads half a key.
  const beside = `${path}.${randomBytes(8).toString('hex')}.new`;
  const kek = randomBytes(KEK_BYTES);
  try {
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(`${kek.toString('hex')}\n`);
      await file.sync();
    } finally {
      kek.fill(0);
      await file.close();
    }
    try {
      await link(beside, path);
    } finally {
      await unlink(beside);
    }
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EEXIST') {
      throw new MailjoinError('KEY_EXISTS', `${path} is left as it is: what it wrapped needs it`, { cause });
    }
    throw new MailjoinError('KEY_FILE', `${path} cannot be made: ${code}`, { cause });
  }
}

interface ReadKek {
  readonly kek?: Uint8Array;
  readonly problem?: string;
  readonly cause?: unknown;
}

/** Synchronous, so that a start can look at the file together with its settings. */
function readKek(path: string): ReadKek {
  let file: number | undefined;
  try {
    // O_NONBLOCK: a named pipe in its place is refused below instead of waiting for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return { problem: 'is no regular file' };
    if ((stat.mode & GROUP_AND_OTHERS) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, '0');
      return { problem: `has mode ${mode}, but 0600 or stricter is required` };
    }
    if (stat.size > FILE_BYTES_MAX) return { problem: 'is larger than a key file can be' };
    const kek = parseKek(readFileSync(file, 'utf8').trim());
    return kek === undefined ? { problem: 'does not hold 32 bytes as hexadecimal or base64' } : { kek };
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    return { problem: isMissing ? 'does not exist' : 'cannot be read', cause };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function parseKek(text: string): Uint8Array | undefined {
  if (HEX.test(text)) return new Uint8Array(Buffer.from(text, 'hex'));
  return BASE64.test(text) ? new Uint8Array(Buffer.from(text, 'base64')) : undefined;
}
