/** Starts the writing process of the crash tests (writing-child.mjs) and collects what it told until its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const SCRIPT = fileURLToPath(new URL('./writing-child.mjs', import.meta.url));

/** One thing that a writing process does; `of` names a message by the name it was committed under. */
export type Operation = { readonly id: string; readonly stopAt?: string } & (
  | {
      readonly kind: 'commit';
      readonly name: string;
      readonly text: string;
      /** The task's unless given. */
      readonly record?: Task['record'];
    }
  | { readonly kind: 'edit'; readonly of: string; readonly text: string }
  | { readonly kind: 'recall'; readonly of: string }
  | { readonly kind: 'recover' }
  | { readonly kind: 'archive'; readonly group: string }
);

/** Where a process kills itself: see writing-child.mjs. */
export interface Kill {
  readonly op: string;
  readonly at: string;
  readonly nth?: number;
}

/** Everything as JSON; ids and keys as hexadecimal. */
export interface Task {
  readonly place: object;
  readonly kek: string;
  readonly record: 'sync' | 'archive';
  readonly chat?: { readonly tenantId: string; readonly conversationId: string; readonly senderId: string };
  readonly known?: Readonly<Record<string, { readonly seq: string; readonly messageId: string }>>;
  readonly operations?: readonly Operation[];
  readonly kill?: Kill | undefined;
  readonly endless?: { readonly seed: number; readonly prefix: string; readonly lanes: number };
  readonly clockAheadMs?: number;
}

/** What an acknowledgement says, by kind of operation. */
export interface Ack {
  readonly ack: string;
  readonly name?: string;
  readonly seq?: string;
  readonly messageId?: string;
  readonly createdAtMs?: string;
  readonly eventSeq?: string;
  readonly lastActivityId?: string;
  readonly applied?: number;
  readonly shown?: number;
  readonly events?: number;
  readonly messages?: number;
  readonly parked?: number;
}

export function commit(name: string, record?: Task['record']): Operation {
  return { id: name, kind: 'commit', name, text: `text of ${name}`, ...(record && { record }) };
}

export interface ChildRun {
  readonly acks: readonly Ack[];
  readonly fails: readonly { readonly fail: string; readonly code: string }[];
  readonly begun: readonly Operation[];
  readonly isKilled: boolean;
}

type Line = Ack | { readonly fail: string; readonly code: string } | { readonly begin: Operation };

/** Runs a task to its end; `killAfterMs` kills it from outside, counted from its first line. */
export async function runChild(task: Task, killAfterMs?: number): Promise<ChildRun> {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const errors = collected(child);
  const acks: Ack[] = [];
  const fails: { fail: string; code: string }[] = [];
  const begun: Operation[] = [];
  let timer: NodeJS.Timeout | undefined;
  if (child.stdout === null) throw new Error('the child has no output');
  for await (const text of createInterface({ input: child.stdout })) {
    if (killAfterMs !== undefined) timer ??= setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    // The child writes exactly these lines; the one that a kill cut off is no line.
    const line = JSON.parse(text) as Line;
    if ('begin' in line) begun.push(line.begin);
    else if ('fail' in line) fails.push(line);
    else acks.push(line);
  }
  await ended;
  clearTimeout(timer);
  const isKilled = child.signalCode === 'SIGKILL';
  if (!isKilled && child.exitCode !== 0) {
    throw new Error(`the writing process failed: ${(await errors).slice(0, 4_000)}`);
  }
  return { acks, fails, begun, isKilled };
}

async function collected(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stderr ?? []) text += String(chunk);
  return text;
}
