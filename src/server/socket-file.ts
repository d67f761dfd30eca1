/**
 * The socket's file: taking its place, giving it up again, and stealing nothing on the way.
 *
 * uSockets unlinks whatever lies at the path it is told to bind, copies the path unchecked into sun_path and makes
 * the socket 0700. So it is given a fresh name in the same directory; the socket gets its mode there, and then its
 * final name by link(2), which fails when something has that name. What lies there already is judged first: a live
 * socket → SOCKET_IN_USE; no socket at all → SOCKET_PATH; a stale one is removed.
 *
 * Between that look and the removal another process could put its live socket there, so one process at a time does
 * both. Its ticket is the listening socket itself under its first name:
 *
 *     .mjXXXXXXXXw   waits        ──▶   .mjXXXXXXXX   claims, if after the rename no other live one has such a name
 *                    ◀── steps back, pauses and tries again; after a bounded number of times → SOCKET_IN_USE
 *
 * Of two that claim at once at least one sees the other. A claiming ticket of a killed process refuses connections and
 * is removed by whoever meets it; its random name is nobody else's, so that this removal cannot hit a live one. A
 * waiting one is left alone: for an instant after its bind it refuses connections too.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MailjoinError } from '../domain/errors.js';
import { SOCKET_PATH_BYTES_MAX } from '../domain/limits.js';

/** How long a connect to an existing socket may take before it counts as live: its backlog may be full. */
const PROBE_MS = 1_000;

/** Times to try for the claim while others have it, and the longest pause in between: about two seconds in all. */
const CLAIM_ATTEMPTS_MAX = 100;
const CLAIM_PAUSE_MS_MAX = 40;
const CLAIMING = /^\.mj[0-9a-f]{8}$/;

/** A socket file that this process made: its path and what tells it from a successor's. */
export interface SocketFile {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * Makes `socketPath` a listening socket of `mode`. `bind` must bind and listen at the path it is given and say
 * whether it could. Throws SOCKET_PATH or SOCKET_IN_USE.
 */
export async function claimSocketFile(
  socketPath: string,
  mode: number,
  bind: (temporaryPath: string) => boolean,
): Promise<SocketFile> {
  const directory = path.dirname(socketPath);
  const ticket = ticketIn(directory);
  try {
    checkPath(socketPath, directory, ticket);
    // Nothing is bound where a look already tells that it is in vain.
    await judge(socketPath);
    if (!bind(ticket.waitingPath)) {
      throw new MailjoinError('SOCKET_PATH', `${socketPath}: cannot bind in this directory`);
    }
    fs.chmodSync(ticket.waitingPath, mode);
    await takeTurn(directory, ticket);
    if ((await judge(socketPath)) === 'stale') fs.rmSync(socketPath, { force: true });
    fs.linkSync(ticket.claimingPath, socketPath);
    const { dev, ino } = fs.lstatSync(socketPath, { bigint: true });
    return { path: socketPath, device: dev, inode: ino };
  } catch (error) {
    if (error instanceof MailjoinError) throw error;
    if (errorCode(error) === 'EEXIST') {
      throw new MailjoinError('SOCKET_IN_USE', `${socketPath}: taken meanwhile`, { cause: error });
    }
    throw new MailjoinError('SOCKET_PATH', `${socketPath}: ${errorCode(error)}`, { cause: error });
  } finally {
    for (const name of [ticket.claimingPath, ticket.waitingPath]) removeQuietly(name);
  }
}

/** Takes a ticket's name away. Where that is not possible, it was not possible to make it either. */
function removeQuietly(ticketPath: string): void {
  try {
    fs.rmSync(ticketPath, { force: true });
  } catch {
    // The first failure is the one to tell of.
  }
}

/** Removes the file when it is still the one that was claimed; says whether it did. */
export function removeSocketFile(file: SocketFile): boolean {
  const stat = fs.lstatSync(file.path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || stat.dev !== file.device || stat.ino !== file.inode) return false;
  fs.rmSync(file.path, { force: true });
  return true;
}

function checkPath(socketPath: string, directory: string, { waitingPath }: Ticket): void {
  const longest = Math.max(Buffer.byteLength(socketPath), Buffer.byteLength(waitingPath));
  if (longest > SOCKET_PATH_BYTES_MAX) {
    throw new MailjoinError(
      'SOCKET_PATH',
      `${socketPath}: ${longest} bytes, the system takes ${SOCKET_PATH_BYTES_MAX}`,
    );
  }
  if (socketPath.includes('\0')) throw new MailjoinError('SOCKET_PATH', 'the path holds a zero byte');
  if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new MailjoinError('SOCKET_PATH', `${directory} is no directory`);
  }
}

/** The names under which a starting process's socket waits for its turn, and has it. */
interface Ticket {
  readonly waitingPath: string;
  readonly claimingPath: string;
}

function ticketIn(directory: string): Ticket {
  const claimingPath = path.join(directory, `.mj${randomBytes(4).toString('hex')}`);
  return { claimingPath, waitingPath: `${claimingPath}w` };
}

/** Says whether the path is free or has a stale socket, or throws. */
async function judge(socketPath: string): Promise<'free' | 'stale'> {
  const stat = fs.lstatSync(socketPath, { throwIfNoEntry: false });
  if (stat === undefined) return 'free';
  if (!stat.isSocket()) throw new MailjoinError('SOCKET_PATH', `${socketPath} exists and is no socket`);
  if (await answers(socketPath)) throw new MailjoinError('SOCKET_IN_USE', socketPath);
  return 'stale';
}

/** Returns when this process alone may claim sockets in the directory; it may until its ticket's name is gone. */
async function takeTurn(directory: string, { waitingPath, claimingPath }: Ticket): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    fs.renameSync(waitingPath, claimingPath);
    const other = await otherClaim(directory, path.basename(claimingPath));
    if (other === undefined) return;
    fs.renameSync(claimingPath, waitingPath);
    if (attempt === CLAIM_ATTEMPTS_MAX) {
      throw new MailjoinError(
        'SOCKET_IN_USE',
        `another process is claiming a socket here, by ${path.join(directory, other)}`,
      );
    }
    // Of different lengths, so that two that saw each other do not meet again.
    await delay(1 + Math.random() * CLAIM_PAUSE_MS_MAX);
  }
}

/** The ticket of another live process that claims; tickets of dead ones are removed. */
async function otherClaim(directory: string, own: string): Promise<string | undefined> {
  for (const name of fs.readdirSync(directory)) {
    if (name === own || !CLAIMING.test(name)) continue;
    const ticketPath = path.join(directory, name);
    if (await answers(ticketPath)) return name;
    fs.rmSync(ticketPath, { force: true });
  }
  return undefined;
}

/** True when something listens there, or may: only a refused connection proves that nothing does. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(socketPath);
    const settle = (live: boolean) => {
      socket.destroy();
      resolve(live);
    };
    socket.setTimeout(PROBE_MS, () => settle(true));
    socket.once('connect', () => settle(true));
    socket.once('error', (error) => {
      const code = errorCode(error);
      settle(code !== 'ECONNREFUSED' && code !== 'ENOENT');
    });
  });
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'failed';
}
