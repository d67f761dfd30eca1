// Head writers on a real embedded store, whose waits and calls a test can hold.
import { expect } from 'vitest';
import { CountedEpochs } from '../../src/write/head-epochs.js';
import type { HeadUpdate } from '../../src/write/head-state.js';
import { HeadWriter, type HeadWriterOptions } from '../../src/write/heads.js';
import { message, user } from '../stores/fixtures.js';
import type { Chat, WritingProcess } from './write-fixtures.js';

/** A head writer of its own on a process's store, with waits that the test sees and that do not take time. */
export function headWriter(process: WritingProcess, over: Partial<HeadWriterOptions> = {}) {
  const alerts: string[] = [];
  const pauses: number[] = [];
  const heads = new HeadWriter({
    store: process.opened.writes,
    epochs: new CountedEpochs(process.opened.writes, process.clock),
    sealer: process.sealer,
    clock: process.clock,
    onAlert: (alert) => alerts.push(alert),
    pause: async (ms) => void pauses.push(ms),
    ...over,
  });
  return { heads, alerts, pauses };
}

export function update(
  { tenantId, conversationId }: Chat,
  seq: bigint,
  over: Partial<HeadUpdate> = {},
): HeadUpdate {
  const messageId = message();
  return {
    tenantId,
    conversationId,
    seq,
    messageId,
    senderId: user(),
    preview: undefined,
    createdAtMs: 1n,
    isRepeated: false,
    ...over,
  };
}

export async function latest(
  process: WritingProcess,
  { tenantId, conversationId }: Chat,
): Promise<bigint | undefined> {
  return (await process.opened.writes.readHead(tenantId, conversationId))?.latestSeq;
}

/** A store whose writes are held until the test lets them go. */
export function heldStore(process: WritingProcess): {
  store: HeadWriterOptions['store'];
  release: () => void;
  started: () => number;
} {
  const { writes } = process.opened;
  const waiting: (() => void)[] = [];
  let started = 0;
  let isOpen = false;
  return {
    store: {
      claimHead: (...args) => writes.claimHead(...args),
      readHead: (...args) => writes.readHead(...args),
      writeHead: async (...args) => {
        started++;
        if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve));
        await writes.writeHead(...args);
      },
    },
    release: () => {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
    started: () => started,
  };
}

/** A place where a call waits until the test lets it pass. */
export function gate() {
  let open!: () => void;
  let arrive!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const pass = async (): Promise<void> => {
    arrive();
    await opened;
  };
  return { open, reached, pass };
}

/** Passes when the event loop has run often enough for it to be true. */
export async function eventually(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !isTrue(); turn++)
    await new Promise((resolve) => setImmediate(resolve));
  expect(isTrue()).toBe(true);
}
