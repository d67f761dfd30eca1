import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { SOCKET_PATH_BYTES_MAX } from '../../src/domain/limits.js';
import { claimSocketFile, removeSocketFile } from '../../src/server/socket-file.js';
import { exchange, joinRequest, protobufRequest, startServer, temporaryDirectory } from './server-fixture.js';

let directory: string;
let socketPath: string;
const listeners: net.Server[] = [];

beforeEach(() => {
  directory = temporaryDirectory();
  socketPath = path.join(directory, 'mailjoin.sock');
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const listener of listeners.splice(0)) listener.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

/** Binds as uSockets does: a socket appears at the path. Its file stays when the listener is closed by force. */
function bind(at: string): boolean {
  const listener = net.createServer();
  listeners.push(listener);
  listener.listen(at);
  return fs.existsSync(at);
}

async function codeOf(step: Promise<unknown>): Promise<string> {
  try {
    await step;
    return 'OK';
  } catch (error) {
    if (error instanceof MailjoinError) return error.code;
    throw error;
  }
}

/** Every file looks like every other: a file system that uses inodes again at once. */
function sameInodes(): void {
  const { lstatSync } = fs;
  vi.spyOn(fs, 'lstatSync').mockImplementation(((at: string, options: fs.StatOptions) => {
    const stat = lstatSync(at, options);
    return stat && Object.assign(stat, options?.bigint === true ? { dev: 1n, ino: 1n } : { dev: 1, ino: 1 });
  }) as typeof fs.lstatSync);
}

async function isLive(at: string): Promise<boolean> {
  const client = net.connect(at);
  const live = await new Promise<boolean>((resolve) => {
    client.once('connect', () => resolve(true)).once('error', () => resolve(false));
  });
  client.destroy();
  return live;
}

/** A socket file that nobody listens on any more. */
async function leaveStale(at: string): Promise<void> {
  const listener = net.createServer();
  await new Promise<void>((resolve) => listener.listen(`${at}.live`, resolve));
  fs.linkSync(`${at}.live`, at);
  await new Promise((resolve) => listener.close(resolve));
}

describe('the socket file', () => {
  it('a file that is no socket is never removed: SOCKET_PATH', async () => {
    fs.writeFileSync(socketPath, 'precious');
    expect(await codeOf(claimSocketFile(socketPath, 0o660, bind))).toBe('SOCKET_PATH');
    expect(fs.readFileSync(socketPath, 'utf8')).toBe('precious');
  });

  it('nor is a directory, or what a symbolic link names', async () => {
    fs.mkdirSync(socketPath);
    expect(await codeOf(claimSocketFile(socketPath, 0o660, bind))).toBe('SOCKET_PATH');
    const target = path.join(directory, 'target');
    fs.writeFileSync(target, 'precious');
    const link = path.join(directory, 'link.sock');
    fs.symlinkSync(target, link);
    expect(await codeOf(claimSocketFile(link, 0o660, bind))).toBe('SOCKET_PATH');
    expect(fs.readFileSync(link, 'utf8')).toBe('precious');
  });

  it('a live socket is not stolen: SOCKET_IN_USE, and it goes on serving', async () => {
    const first = await startServer();
    expect(await codeOf(claimSocketFile(first.socketPath, 0o660, bind))).toBe('SOCKET_IN_USE');
    const response = await exchange(first.socketPath, joinRequest(protobufRequest()));
    expect(response.status).toBe(200);
    await first.close();
  });

  it('a stale socket is replaced', async () => {
    await leaveStale(socketPath);
    expect(fs.lstatSync(socketPath).isSocket()).toBe(true);
    expect(await codeOf(claimSocketFile(socketPath, 0o660, bind))).toBe('OK');
    const client = net.connect(socketPath);
    await new Promise<void>((resolve, reject) => client.once('connect', resolve).once('error', reject));
    client.destroy();
  });

  it('a path that another process takes while the own socket is made is not stolen', async () => {
    const bindLate = (at: string) => {
      fs.writeFileSync(socketPath, 'other');
      return bind(at);
    };
    expect(await codeOf(claimSocketFile(socketPath, 0o660, bindLate))).toBe('SOCKET_PATH');
    expect(fs.readFileSync(socketPath, 'utf8')).toBe('other');
    expect(fs.readdirSync(directory)).toEqual(['mailjoin.sock']);
  });

  it('nor is one taken at the last instant', async () => {
    const { linkSync } = fs;
    vi.spyOn(fs, 'linkSync').mockImplementationOnce((from, to) => {
      fs.writeFileSync(socketPath, 'other');
      linkSync(from, to);
    });
    expect(await codeOf(claimSocketFile(socketPath, 0o660, bind))).toBe('SOCKET_IN_USE');
    expect(fs.readFileSync(socketPath, 'utf8')).toBe('other');
    expect(fs.readdirSync(directory)).toEqual(['mailjoin.sock']);
  });

  it('whoever finds a stale socket while another one replaces it steals nothing, though inodes are used again', async () => {
    await leaveStale(socketPath);
    const connect = net.connect;
    let looks = 0;
    let rival: Promise<string> | undefined;
    // The first one's answer to "is it stale?" comes late: by then a rival has had all the time there is.
    vi.spyOn(net, 'connect').mockImplementation(((at: string) => {
      if (at !== socketPath || ++looks !== 1) return connect(at);
      rival = codeOf(claimSocketFile(socketPath, 0o660, bind));
      const late = new net.Socket();
      void rival.finally(() =>
        late.emit('error', Object.assign(new Error('late'), { code: 'ECONNREFUSED' })),
      );
      return late;
    }) as typeof net.connect);
    sameInodes();
    const first = await codeOf(claimSocketFile(socketPath, 0o660, bind));
    expect([await rival, first]).toEqual(['OK', 'SOCKET_IN_USE']);
    expect(await isLive(socketPath)).toBe(true);
  });

  it('nor does a rival that comes between the last look and the removal: it waits, then refuses', async () => {
    await leaveStale(socketPath);
    const connect = net.connect;
    let looks = 0;
    let rival: Promise<string> | undefined;
    vi.spyOn(net, 'connect').mockImplementation(((at: string) => {
      // The second look is the one inside the claim.
      if (at !== socketPath || ++looks !== 2) return connect(at);
      rival = codeOf(claimSocketFile(socketPath, 0o660, bind));
      const late = new net.Socket();
      setTimeout(() => late.emit('error', Object.assign(new Error('late'), { code: 'ECONNREFUSED' })), 300);
      return late;
    }) as typeof net.connect);
    sameInodes();
    const first = await codeOf(claimSocketFile(socketPath, 0o660, bind));
    expect([await rival, first].sort()).toEqual(['OK', 'SOCKET_IN_USE']);
    expect(await isLive(socketPath)).toBe(true);
    expect(fs.readdirSync(directory)).toEqual(['mailjoin.sock']);
  });

  it('of many that find the same stale socket at once exactly one gets it', async () => {
    await leaveStale(socketPath);
    sameInodes();
    const claims = Array.from({ length: 8 }, () => codeOf(claimSocketFile(socketPath, 0o660, bind)));
    const codes = (await Promise.all(claims)).sort();
    expect(codes).toEqual(['OK', ...Array.from({ length: 7 }, () => 'SOCKET_IN_USE')]);
    expect(await isLive(socketPath)).toBe(true);
    expect(fs.readdirSync(directory)).toEqual(['mailjoin.sock']);
  });

  it('a claim that a killed process left is removed; one that is held by a live process is waited for', async () => {
    const left = path.join(directory, '.mj00000000');
    await leaveStale(left);
    const held = path.join(directory, '.mj11111111');
    bind(held);
    const claim = codeOf(claimSocketFile(socketPath, 0o660, bind));
    await vi.waitFor(() => expect(fs.existsSync(left)).toBe(false));
    expect(fs.existsSync(socketPath)).toBe(false);
    fs.rmSync(held);
    expect(await claim).toBe('OK');
  });

  it('a claim that another process never gives up → SOCKET_IN_USE that names it', async () => {
    const held = path.join(directory, '.mj11111111');
    bind(held);
    await expect(claimSocketFile(socketPath, 0o660, bind)).rejects.toMatchObject({
      code: 'SOCKET_IN_USE',
      message: expect.stringContaining(held),
    });
    expect(fs.readdirSync(directory)).toEqual(['.mj11111111']);
  });

  it('a path that is too long, or whose directory is missing → SOCKET_PATH', async () => {
    const tooLong = path.join(directory, 'x'.repeat(SOCKET_PATH_BYTES_MAX));
    expect(await codeOf(claimSocketFile(tooLong, 0o660, bind))).toBe('SOCKET_PATH');
    const nowhere = path.join(directory, 'missing', 'mailjoin.sock');
    expect(await codeOf(claimSocketFile(nowhere, 0o660, bind))).toBe('SOCKET_PATH');
  });

  it('a bind that fails → SOCKET_PATH', async () => {
    expect(await codeOf(claimSocketFile(socketPath, 0o660, () => false))).toBe('SOCKET_PATH');
  });

  it('has the mode asked for, whatever the umask, and leaves no other name behind', async () => {
    const before = process.umask(0o077);
    try {
      const server = await startServer({ socketMode: 0o666 });
      expect(fs.statSync(server.socketPath).mode & 0o777).toBe(0o666);
      expect(fs.readdirSync(server.directory)).toEqual(['mailjoin.sock']);
      await server.close();
    } finally {
      process.umask(before);
    }
  });

  it('is removed only while it is still the own one', async () => {
    const file = await claimSocketFile(socketPath, 0o660, bind);
    fs.rmSync(socketPath);
    expect(removeSocketFile(file)).toBe(false);
    fs.writeFileSync(socketPath, 'successor');
    expect(removeSocketFile(file)).toBe(false);
    expect(fs.existsSync(socketPath)).toBe(true);
    const again = path.join(directory, 'again.sock');
    expect(removeSocketFile(await claimSocketFile(again, 0o660, bind))).toBe(true);
    expect(fs.existsSync(again)).toBe(false);
  });
});
