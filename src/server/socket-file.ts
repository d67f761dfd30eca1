/**
 * The socket's file: taking its place, giving it up again, and stealing nothing on the way.
 *
 * uSockets unlinks whatever lies at the path it is told to bind, copies the path unchecked into sun_path and makes
 * the socket 0700. So it is given a fresh name in the same directory; the socket gets its mode there, and then its
 * final name by link(2), which fails when something has that name. What lies there already is judged first: a live
 * socket → SOCKET_IN_USE; no socket at all → SOCKET_PATH; a stale one is moved aside and looked at again before it
 * is removed, since another process may have replaced it in between.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { MailjoinError } from '../domain/errors.js';
import { SOCKET_PATH_BYTES_MAX } from '../domain/limits.js';

/** How long a connect to an existing socket may take before it counts as live: its backlog may be full. */
const PROBE_MS = 1_000;

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
  checkPath(socketPath, directory);
  await clearStale(socketPath);
  const temporaryPath = path.join(directory, temporaryName());
  if (!bind(temporaryPath)) {
    throw new MailjoinError('SOCKET_PATH', `${socketPath}: cannot bind in this directory`);
  }
  try {
    fs.chmodSync(temporaryPath, mode);
    fs.linkSync(temporaryPath, socketPath);
    const { dev, ino } = fs.lstatSync(socketPath, { bigint: true });
    return { path: socketPath, device: dev, inode: ino };
  } catch (error) {
    if (errorCode(error) === 'EEXIST') {
      throw new MailjoinError('SOCKET_IN_USE', `${socketPath}: taken meanwhile`, { cause: error });
    }
    throw new MailjoinError('SOCKET_PATH', `${socketPath}: ${errorCode(error)}`, { cause: error });
  } finally {
    fs.rmSync(temporaryPath, { force: true });
  }
}

/** Removes the file when it is still the one that was claimed; says whether it did. */
export function removeSocketFile(file: SocketFile): boolean {
  const stat = lstat(file.path);
  if (stat === undefined || stat.dev !== file.device || stat.ino !== file.inode) return false;
  fs.rmSync(file.path, { force: true });
  return true;
}

function checkPath(socketPath: string, directory: string): void {
  const longest = Math.max(
    Buffer.byteLength(socketPath),
    Buffer.byteLength(path.join(directory, temporaryName())),
  );
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

/** Leaves the path free, or throws. */
async function clearStale(socketPath: string): Promise<void> {
  const before = lstat(socketPath);
  if (before === undefined) return;
  if (!before.isSocket()) throw new MailjoinError('SOCKET_PATH', `${socketPath} exists and is no socket`);
  if (await answers(socketPath)) throw new MailjoinError('SOCKET_IN_USE', socketPath);
  const asidePath = path.join(path.dirname(socketPath), temporaryName());
  try {
    fs.renameSync(socketPath, asidePath);
  } catch (error) {
    // Whoever removed it first left the path free, which is all that was wanted.
    if (errorCode(error) === 'ENOENT') return;
    throw new MailjoinError('SOCKET_PATH', `${socketPath}: ${errorCode(error)}`, { cause: error });
  }
  const moved = lstat(asidePath);
  if (moved !== undefined && (moved.dev !== before.dev || moved.ino !== before.ino)) {
    // Another process claimed the path between the two looks: it gets its file back.
    fs.linkSync(asidePath, socketPath);
    fs.rmSync(asidePath, { force: true });
    throw new MailjoinError('SOCKET_IN_USE', socketPath);
  }
  fs.rmSync(asidePath, { force: true });
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

function lstat(filePath: string): fs.BigIntStats | undefined {
  return fs.lstatSync(filePath, { bigint: true, throwIfNoEntry: false });
}

function temporaryName(): string {
  return `.${randomBytes(4).toString('hex')}`;
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'failed';
}
