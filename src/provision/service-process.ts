/**
 * One server process that never outlives us, whatever ends us.
 *
 * Between us and the server stands a small shell, leader of its own process group (so that a terminal's Ctrl-C reaches
 * us alone). Its standard input is a pipe that only we hold: when it ends (stop() closed it, or this process died by
 * whatever signal and the kernel closed it), the shell sends the server SIGTERM, after a grace SIGKILL, removes the
 * temporary folder and ends. So a crash leaves neither processes nor files behind.
 *
 *     fd 0  from us: nothing; its end means "stop"
 *     fd 1, 2  the server's log file
 *     fd 3  to us: "pid N", then "exit CODE"
 *
 * A program that ends by itself (Maven) runs the same way. None of it keeps our event loop alive. Failure: SERVICE_START with the end of the log.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { MailjoinError } from '../domain/errors.js';
import type { Environment } from './toolchain.js';

/** How long a server may take to end after SIGTERM before SIGKILL: long enough to flush, where that has a point. */
const STOP_GRACE_MS_KEPT = 10_000;
const STOP_GRACE_MS_TEMPORARY = 2_000;
/** How long the shell may take beyond that: it removes the folder. */
const STOP_MARGIN_MS = 10_000;
const POLL_MS = 50;
const LOG_TAIL_LINES = 25;
const LOG_CHUNK_BYTES = 64 * 1024;

// $1: tenths of a second between SIGTERM and SIGKILL; $2: folder to remove at the end, or empty; then the command.
const SUPERVISOR = `
grace=$1; folder=$2; shift 2
PATH=$PATH:/usr/bin:/bin
exec 4<&0 </dev/null
"$@" 3>&- 4<&- &
server=$!
# Nobody may be left to read what we tell: that must not end the shell before its work is done.
trap '' PIPE
echo "pid $server" >&3
{
  cat <&4 >/dev/null
  kill -TERM "$server" 2>/dev/null
  while [ "$grace" -gt 0 ] && kill -0 "$server" 2>/dev/null; do sleep 0.1; grace=$((grace - 1)); done
  kill -KILL "$server" 2>/dev/null
} 3>&- &
guard=$!
wait "$server"; code=$?
# From here the server's pid may belong to another process: the guard must not signal it any more.
kill -KILL "$guard" 2>/dev/null
echo "exit $code" >&3
cat <&4 >/dev/null
[ -n "$folder" ] || exit 0
cd /
rm -rf -- "$folder"
rmdir -- "\${folder%/*}" 2>/dev/null
`;

export interface ServiceCommand {
  /** For texts: "Cassandra node 1". */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Environment;
  readonly workingFolder: string;
  readonly logPath: string;
  /** Removed when the server has ended at our request or after our death; then its parent too, if it is empty. */
  readonly temporaryFolder?: string | undefined;
}

export class ServiceProcess {
  readonly logPath: string;
  readonly #name: string;
  readonly #supervisor: ChildProcess;
  readonly #gone: Promise<unknown>;
  readonly #graceMs: number;
  #pid = 0;
  #exitCode: number | undefined;
  #logRead = 0;

  private constructor(command: ServiceCommand) {
    this.logPath = command.logPath;
    this.#name = command.name;
    this.#graceMs = command.temporaryFolder === undefined ? STOP_GRACE_MS_KEPT : STOP_GRACE_MS_TEMPORARY;
    const log = openSync(command.logPath, 'a');
    this.#supervisor = spawn(
      '/bin/sh',
      [
        '-c',
        SUPERVISOR,
        'mailjoin-supervisor',
        String(this.#graceMs / 100),
        command.temporaryFolder ?? '',
        command.program,
        ...command.args,
      ],
      {
        cwd: command.workingFolder,
        env: command.environment,
        stdio: ['pipe', log, log, 'pipe'],
        detached: true,
      },
    );
    closeSync(log);
    this.#gone = once(this.#supervisor, 'exit').catch(() => {});
  }

  /** Starts the server and waits until its process exists. */
  static async start(command: ServiceCommand): Promise<ServiceProcess> {
    const service = new ServiceProcess(command);
    await service.#readPid();
    return service;
  }

  /** The server's own process id. */
  get pid(): number {
    return this.#pid;
  }

  /** The exit code once the server has ended (128 + signal for a signal), else undefined. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Waits until the log shows the text. SERVICE_START when the server ends or the time is over before that. */
  async readyWhenLogged(pattern: RegExp, timeoutMs: number): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs;
    let unseen = '';
    for (;;) {
      unseen += await this.#newLog();
      if (pattern.test(unseen)) return;
      // Only the last, unfinished line can still become a match.
      unseen = unseen.slice(unseen.lastIndexOf('\n') + 1);
      if (this.#exitCode !== undefined) {
        throw await this.#failure(`${this.#name} ended with code ${this.#exitCode}`);
      }
      if (Date.now() > deadlineMs)
        throw await this.#failure(`${this.#name} was not ready in ${timeoutMs} ms`);
      await delay(POLL_MS);
    }
  }

  /** Waits until the port takes connections: servers log that they listen a moment before they do. */
  async readyWhenListening(host: string, port: number, timeoutMs: number): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs;
    while (!(await takesConnections(host, port))) {
      if (this.#exitCode !== undefined) {
        throw await this.#failure(`${this.#name} ended with code ${this.#exitCode}`);
      }
      if (Date.now() > deadlineMs) throw await this.#failure(`${this.#name} does not listen on port ${port}`);
      await delay(POLL_MS);
    }
  }

  /** Waits until the program has ended well by itself. SERVICE_START for any exit code but 0, or when the time is over. */
  async succeeded(timeoutMs: number): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs;
    while (this.#exitCode === undefined) {
      if (Date.now() > deadlineMs) throw await this.#failure(`${this.#name} took over ${timeoutMs} ms`);
      await delay(POLL_MS);
    }
    if (this.#exitCode !== 0) throw await this.#failure(`${this.#name} ended with code ${this.#exitCode}`);
  }

  /** Ends the server at once, as a crash would (for fault tests); stop() is still needed. */
  kill(): void {
    if (this.#exitCode === undefined) process.kill(this.#pid, 'SIGKILL');
  }

  /** Ends the server: SIGTERM, after a grace SIGKILL; removes the temporary folder. May be called again. */
  async stop(): Promise<void> {
    this.#supervisor.ref();
    this.#supervisor.stdin?.end();
    const late = new AbortController();
    const timeUp = delay(this.#graceMs + STOP_MARGIN_MS, 'late', { signal: late.signal }).catch(
      () => undefined,
    );
    const outcome = await Promise.race([this.#gone, timeUp]);
    late.abort();
    const pid = this.#supervisor.pid;
    // The group is the shell, its guard and the server.
    if (outcome === 'late' && pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  async #readPid(): Promise<void> {
    // stdio[3] is 'pipe', which Node opens as a readable socket.
    const status = this.#supervisor.stdio[3] as Readable;
    let text = '';
    const started = new Promise<void>((resolve, reject) => {
      this.#supervisor.once('error', (cause) => {
        reject(new MailjoinError('SERVICE_START', `${this.#name}: no shell could be started`, { cause }));
      });
      status.setEncoding('utf8');
      status.on('error', () => {});
      status.on('data', (chunk: string) => {
        text += chunk;
        const pid = /^pid (\d+)$/m.exec(text);
        const exit = /^exit (\d+)$/m.exec(text);
        if (exit !== null) this.#exitCode = Number(exit[1]);
        if (pid !== null) {
          this.#pid = Number(pid[1]);
          resolve();
        }
      });
      status.once('close', () => {
        this.#exitCode ??= 255;
        reject(new MailjoinError('SERVICE_START', `${this.#name}: its shell ended`));
      });
    });
    await started;
    this.#supervisor.stdin?.on('error', () => {});
    this.#supervisor.unref();
    // Both are sockets underneath; unref is theirs, not of the stream types.
    (status as Readable & { unref(): void }).unref();
    (this.#supervisor.stdin as unknown as { unref(): void }).unref();
  }

  async #newLog(): Promise<string> {
    const file = await open(this.logPath, 'r');
    try {
      const chunk = Buffer.allocUnsafe(LOG_CHUNK_BYTES);
      let text = '';
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, LOG_CHUNK_BYTES, this.#logRead);
        if (bytesRead === 0) return text;
        this.#logRead += bytesRead;
        text += chunk.toString('latin1', 0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async #failure(what: string): Promise<MailjoinError> {
    const log = await readFile(this.logPath, 'utf8').catch(() => '');
    const tail = log.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
    return new MailjoinError('SERVICE_START', `${what}; the end of its log:\n${tail}`);
  }
}

function takesConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
