// Runs as a process of its own for the crash tests, on the built files: a writer, an archiver and a recovery run over the
// given store and log. It does the operations of its task, tells each acknowledgement in the moment that it has it, and
// kills itself where the task says: after a step, after a port's call, or while one is under way.
//
//     kill.at   "step recall log" | "after insertRecord" | "during append" | "acknowledged"
//
// Lines on standard output: { begin: operation } | { ack: id, … } | { fail: id, code }.
import { writeSync } from 'node:fs';
import { Archiver } from '../../dist/archive/archiver.js';
import { systemClock } from '../../dist/cli/system-clock.js';
import { ConversationSealer } from '../../dist/crypto/conversation-sealer.js';
import { DekCache } from '../../dist/crypto/dek-cache.js';
import { KeyAdmin } from '../../dist/crypto/key-admin.js';
import { LocalKeyProvider } from '../../dist/crypto/local-key-provider.js';
import { CQL_ROW_BYTES_MAX } from '../../dist/domain/limits.js';
import { Retention } from '../../dist/write/retention.js';
import { NO_POLICIES } from '../../dist/write/retention-policies.js';
import { Writer } from '../../dist/write/writer.js';

const task = JSON.parse(process.argv[2]);
const { kill } = task;
const clock = {
  nowMs: () => systemClock.nowMs(),
  epochMs: () => systemClock.epochMs() + (task.clockAheadMs ?? 0),
};

const tell = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const bytes = (hex) => new Uint8Array(Buffer.from(hex, 'hex'));
const hex = (value) => Buffer.from(value).toString('hex');

let current;
let left = kill?.nth ?? 1;
const isArmed = (point) => kill !== undefined && current === kill.op && kill.at === point;
function reached(point) {
  if (isArmed(point) && --left === 0) process.kill(process.pid, 'SIGKILL');
}

/** A port whose calls can be killed after, or while they are under way. */
function watched(port) {
  return new Proxy(port, {
    get(target, name) {
      const member = target[name];
      if (typeof member !== 'function') return member;
      return (...given) => {
        const answer = member.apply(target, given);
        if (isArmed(`during ${name}`)) setImmediate(reached, `during ${name}`);
        if (!isArmed(`after ${name}`)) return answer;
        return answer.then((value) => {
          reached(`after ${name}`);
          return value;
        });
      };
    },
  });
}

async function openPlace({ kind, directory, cql, kafka }) {
  if (kind === 'embedded') {
    const { openEmbedded } = await import('../../dist/embedded/open-embedded.js');
    const { store, writes, keys, log } = await openEmbedded(directory, clock);
    return { messages: store, writes, keys, log };
  }
  const { openCqlStores } = await import('../../dist/cql/open.js');
  const { KafkaLog } = await import('../../dist/kafka/kafka-log.js');
  const [{ messages, writes, keys }, log] = await Promise.all([
    openCqlStores({ ...cql, clock }),
    KafkaLog.open({ ...kafka, clock, sessionMs: 6_000 }),
  ]);
  return { messages, writes: ofTopic(writes, kafka.topic), keys, log };
}

/** Topics of one keyspace have checkpoints of their own here: in a deployment there is one. */
function ofTopic(writes, topic) {
  return new Proxy(writes, {
    get(target, name) {
      const member = target[name];
      if (typeof member !== 'function') return member;
      if (name !== 'loadCheckpoint' && name !== 'saveCheckpoint') return member.bind(target);
      return (checkpoint, ...rest) => member.call(target, `${topic}.${checkpoint}`, ...rest);
    },
  });
}

const opened = await openPlace(task.place);
const messages = watched(opened.messages);
const writes = watched(opened.writes);
const log = watched(opened.log);
const kek = bytes(task.kek);
const keys = new KeyAdmin(opened.keys, kek, clock);
const keyring = new DekCache({ provider: new LocalKeyProvider(opened.keys, kek), clock });
const sealer = new ConversationSealer({ keys, keyring, clock });

/** Ends an operation after a step, as a crash would, but lets the process go on. */
const stops = new Map();
class Stop extends Error {}
const writerFor = (record) =>
  new Writer({
    messages,
    writes,
    outbox: log,
    sealer,
    retention: NO_POLICIES,
    clock,
    record,
    onAlert: () => {},
    watchStep: (operation, step) => {
      reached(`step ${operation} ${step}`);
      if (stops.get(operation) === step) throw new Stop();
    },
  });
const writers = { sync: writerFor('sync'), archive: writerFor('archive') };
const writer = writers[task.record];

const where = Object.fromEntries(Object.entries(task.chat ?? {}).map(([name, id]) => [name, bytes(id)]));
const targets = new Map(
  Object.entries(task.known ?? {}).map(([name, { seq, messageId }]) => [
    name,
    { ...where, seq: BigInt(seq), messageId: bytes(messageId) },
  ]),
);

async function archive(group) {
  const archiver = new Archiver({
    messages,
    writes,
    clock,
    group,
    log: {
      consume: (options) =>
        log.consume({
          ...options,
          onEntries: async (entries) => {
            await options.onEntries(entries);
            reached('after handled');
          },
        }),
    },
    retention: new Retention(NO_POLICIES, () => {}),
    parking: watched({ park: async () => 0 }),
    rowBytesMax: CQL_ROW_BYTES_MAX,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    random: Math.random,
  });
  await archiver.run(new AbortController().signal, await log.ends());
  const { lag: _, ...totals } = archiver.totals();
  return totals;
}

const operations = {
  async commit({ name, text, record = task.record }) {
    const utf8 = new TextEncoder().encode(text);
    const message = { ...where, clientMessageId: name, payload: utf8, preview: utf8 };
    const { messageId, seq, createdAtMs } = await writers[record].commit(message);
    targets.set(name, { ...where, seq, messageId });
    return { name, seq: String(seq), messageId: hex(messageId), createdAtMs: String(createdAtMs) };
  },
  async edit({ of, text }) {
    const payload = new TextEncoder().encode(text);
    return eventAck(await writer.edit({ ...targets.get(of), payload, preview: payload }));
  },
  async recall({ of }) {
    return eventAck(await writer.recall(targets.get(of)));
  },
  recover: () => writer.recover(log, new AbortController().signal),
  archive: ({ group }) => archive(group),
};

function eventAck({ eventSeq, lastActivityId }) {
  return { eventSeq: String(eventSeq), lastActivityId: hex(lastActivityId) };
}

async function perform(operation) {
  const { id, kind, stopAt } = operation;
  current = id;
  if (stopAt !== undefined) stops.set(kind, stopAt);
  try {
    const acknowledged = await operations[kind](operation);
    tell({ ack: id, ...acknowledged });
    reached('acknowledged');
    if (kill?.op === id) await Promise.all(Object.values(writers).map((each) => each.headsIdle()));
  } catch (error) {
    if (!(error instanceof Stop) && typeof error.code !== 'string') throw error;
    tell({ fail: id, code: error.code ?? 'STOPPED' });
  } finally {
    stops.delete(kind);
  }
}

for (const operation of task.operations ?? []) await perform(operation);

/** Until it is killed from outside: commits, edits and recalls in a random order, several at once. */
if (task.endless !== undefined) {
  const { seed, prefix, lanes } = task.endless;
  let state = seed;
  const random = (below) => {
    // A linear congruence is random enough to mix operations, and repeats with its seed.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let count = 0;
  const next = () => {
    const id = `${prefix}-${count++}`;
    const names = [...targets.keys()];
    const of = names[random(names.length)];
    const draw = random(10);
    if (of === undefined || draw < 5) return { id, kind: 'commit', name: id, text: `text of ${id}` };
    if (draw < 8) return { id, kind: 'edit', of, text: `edit ${id}` };
    return { id, kind: 'recall', of };
  };
  const lane = async () => {
    for (;;) {
      const operation = next();
      tell({ begin: operation });
      await perform(operation);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

await Promise.all(Object.values(writers).map((each) => each.close(5_000)));
keyring.close();
await opened.log.close();
await opened.messages.close();
