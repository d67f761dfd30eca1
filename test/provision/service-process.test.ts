// Server processes with shell stand-ins: ready or a readable error, and never left behind. Needs a build for the
// test of a dying parent (npm test makes it).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freePorts } from '../../src/provision/free-ports.js';
import { ServiceProcess } from '../../src/provision/service-process.js';

const PATIENCE = { timeout: 15_000, interval: 25 };
const started: ServiceProcess[] = [];
let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mailjoin-service-'));
  folder = join(root, 'node');
  mkdirSync(folder);
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.stop()));
  rmSync(root, { recursive: true, force: true });
});

async function start(script: string, isTemporary = true): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({
    name: 'server',
    program: '/bin/sh',
    args: ['-c', script],
    environment: process.env,
    workingFolder: folder,
    logPath: join(folder, 'server.log'),
    temporaryFolder: isTemporary ? folder : undefined,
  });
  started.push(service);
  return service;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('waiting for a server', () => {
  it('fails when it ends first, with its code and the end of its log', async () => {
    const service = await start('echo one; echo two >&2; exit 3');
    await expect(service.readyWhenLogged(/ready/, 15_000)).rejects.toMatchObject({
      code: 'SERVICE_START',
      message: expect.stringMatching(/server ended with code 3[\s\S]*one\ntwo$/),
    });
    expect(service.exitCode).toBe(3);
  });

  it('fails when the program does not exist', async () => {
    const service = await ServiceProcess.start({
      name: 'server',
      program: join(folder, 'nothing'),
      args: [],
      environment: process.env,
      workingFolder: folder,
      logPath: join(folder, 'server.log'),
    });
    started.push(service);
    await expect(service.succeeded(15_000)).rejects.toMatchObject({ code: 'SERVICE_START' });
    expect(service.exitCode).toBe(127);
  });

  it('fails when its time is over', async () => {
    const service = await start('echo slow; exec sleep 600');
    await expect(service.readyWhenLogged(/ready/, 200)).rejects.toMatchObject({
      code: 'SERVICE_START',
      message: expect.stringContaining('not ready in 200 ms'),
    });
  });

  it('fails when it says that it listens, but does not', async () => {
    const [port = 0] = await freePorts(1, ['127.0.0.1']);
    const service = await start('exec sleep 600');
    await expect(service.readyWhenListening('127.0.0.1', port, 200)).rejects.toMatchObject({
      code: 'SERVICE_START',
    });
  });

  it('ends at the text, also when a line arrives in pieces', async () => {
    const service = await start(
      "printf 'not yet\\nStarting lis'; sleep 0.2; printf 'tening\\n'; exec sleep 600",
    );
    await service.readyWhenLogged(/Starting listening/, 15_000);
    expect(isAlive(service.pid)).toBe(true);
  });

  it('ends when the port takes connections', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const service = await start('exec sleep 600');
    const { port } = server.address() as { port: number };
    await service.readyWhenListening('127.0.0.1', port, 15_000);
    server.close();
  });

  it('tells the success of a program that ends by itself', async () => {
    const service = await start('exit 0');
    await expect(service.succeeded(15_000)).resolves.toBeUndefined();
  });
});

describe('stopping a server', () => {
  it('sends SIGTERM, and removes the temporary folder and its emptied parent', async () => {
    const service = await start("trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    await service.readyWhenLogged(/ready/, 15_000);
    await service.stop();
    expect(isAlive(service.pid)).toBe(false);
    expect(service.exitCode).toBe(0);
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(root)).toBe(false);
  });

  it('keeps a folder that is not temporary, with the log', async () => {
    const service = await start(
      "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
      false,
    );
    await service.readyWhenLogged(/ready/, 15_000);
    await service.stop();
    expect(readFileSync(service.logPath, 'utf8')).toBe('ready\nasked\n');
  });

  it('kills a server that does not heed SIGTERM', async () => {
    const service = await start("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    await service.readyWhenLogged(/ready/, 15_000);
    await service.stop();
    expect(isAlive(service.pid)).toBe(false);
  });

  it('can be done twice, and after the server has gone', async () => {
    const service = await start('exit 0');
    await service.succeeded(15_000);
    await service.stop();
    await service.stop();
    expect(existsSync(folder)).toBe(false);
  });

  it('keeps the folder of a server that was killed until it is asked to stop', async () => {
    const service = await start('echo ready; exec sleep 600');
    await service.readyWhenLogged(/ready/, 15_000);
    service.kill();
    await vi.waitFor(() => expect(service.exitCode).toBe(128 + 9), PATIENCE);
    expect(readFileSync(service.logPath, 'utf8')).toContain('ready');
    service.kill();
    await service.stop();
    expect(existsSync(folder)).toBe(false);
  });
});

describe('a parent that ends without stopping its server', () => {
  it.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'throw', 'exit', 'end'])('takes it along: %s', async (ending) => {
    const script = fileURLToPath(new URL('orphan-parent.mjs', import.meta.url));
    const parent = spawn(process.execPath, [script, folder, ending], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(parent, 'exit');
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(pid).toBeGreaterThan(0);
    if (ending.startsWith('SIG')) parent.kill(ending as NodeJS.Signals);
    await exited;
    await vi.waitFor(() => expect([isAlive(pid), existsSync(root)]).toEqual([false, false]), PATIENCE);
  });
});
