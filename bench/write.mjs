/**
 * `npm run bench:write [-- --store embedded|cql|both]`
 *
 * What a commit costs beside the statements that it consists of: the Writer against a bare sequence of the same calls on
 * the same store and log (reserve, insert, index, append, complete), with the same sealed bytes, in turns of one run; the
 * head, which neither waits for, is left out in one and written in the other.
 * One conversation and many, one commit at a time and many at once; then where a commit's time goes, by step. On the
 * embedded store, and on a Cassandra and a Kafka that it starts itself. It ends by itself, in less than two minutes.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../dist/cli/system-clock.js';
import { encodeLogRecord } from '../dist/codec/log-record.js';
import { ConversationSealer } from '../dist/crypto/conversation-sealer.js';
import { DekCache } from '../dist/crypto/dek-cache.js';
import { KeyAdmin } from '../dist/crypto/key-admin.js';
import { LocalKeyProvider } from '../dist/crypto/local-key-provider.js';
import { MessageState } from '../dist/domain/message.js';
import { DedupState } from '../dist/domain/write-ports.js';
import { insertMicros } from '../dist/write/message-ids.js';
import { NO_POLICIES } from '../dist/write/retention-policies.js';
import { Writer } from '../dist/write/writer.js';
import { runBounded } from './bounded-run.mjs';
import { each } from './fill.mjs';
import { median, printMachine, printRows } from './report.mjs';
import { openEmbeddedPlace, openLivePlace } from './write-places.mjs';

const PAYLOAD = randomBytes(500);
const TTL_SECONDS = 2_592_000;
const TURNS = 3;
const TURN_MS = 1_000;
/** Commits under way at once, of the concurrent sides. */
const AT_ONCE = 32;
const MANY_CONVERSATIONS = 200;
const STEPS = ['validate', 'assign', 'reserve', 'seal', 'record', 'log', 'complete'];
/** The whole run, the servers' start included. */
const RUN_MS_MAX = 118_000;

const { values } = parseArgs({ options: { store: { type: 'string', default: 'both' } } });
const folder = await mkdtemp(join(tmpdir(), 'mailjoin-bench-write-'));
const stops = [() => rm(folder, { recursive: true, force: true })];
await runBounded(bench, stops, RUN_MS_MAX);

async function bench() {
  printMachine();
  if (values.store !== 'cql') await benchPlace(await openEmbeddedPlace(folder, stops));
  if (values.store !== 'embedded') await benchPlace(await openLivePlace(stops));
}

async function benchPlace(place) {
  const { name, messages, writes, log, keys: keyStore } = place;
  const kek = randomBytes(32);
  const keys = new KeyAdmin(keyStore, kek, systemClock);
  const keyring = new DekCache({ provider: new LocalKeyProvider(keyStore, kek), clock: systemClock });
  const sealer = new ConversationSealer({ keys, keyring, clock: systemClock });
  const took = Object.fromEntries(STEPS.map((step) => [step, []]));
  const options = {
    messages,
    writes,
    outbox: log,
    sealer,
    retention: NO_POLICIES,
    clock: systemClock,
    onAlert: () => {},
  };
  const writer = new Writer(options);
  const watched = new Writer({
    ...options,
    watchStep: (_, step, elapsedMs) => void took[step].push(elapsedMs),
  });
  stops.push(async () => {
    await writer.close(5_000);
    await watched.close(5_000);
    keyring.close();
  });

  const tenantId = randomBytes(16);
  const one = [conversationIn(tenantId)];
  const many = Array.from({ length: MANY_CONVERSATIONS }, () => conversationIn(tenantId));
  // Each conversation's key and window are made before anything is measured, as in a process that has run for a while.
  await each(many.length, AT_ONCE, (index) => commit(writer, many[index]));
  await commit(writer, one[0]);
  const bare = await bareCommit(place, sealer, tenantId);

  for (const [shape, conversations, atOnce] of [
    ['one conversation, one commit at a time', one, 1],
    [`one conversation, ${AT_ONCE} commits at once`, one, AT_ONCE],
    [`${MANY_CONVERSATIONS} conversations, ${AT_ONCE} commits at once`, many, AT_ONCE],
  ]) {
    const sides = { bare: [], head: [], writer: [] };
    // Each side is first in every other turn; turn 0 warms up.
    for (let turn = 0; turn <= TURNS; turn++) {
      const runs = [
        async () => sides.bare.push(await timed(atOnce, (count) => bare(pick(conversations, count)))),
        async () => {
          const heads = [];
          const work = async (count) => {
            await bare(pick(conversations, count));
            heads.push(bareHead(place, pick(conversations, count)));
          };
          sides.head.push(await timed(atOnce, work));
          await Promise.all(heads);
        },
        async () =>
          sides.writer.push(await timed(atOnce, (count) => commit(writer, pick(conversations, count)))),
      ];
      for (const run of turn % 2 === 0 ? runs : runs.reverse()) await run();
      await writer.headsIdle();
    }
    printRows(`${name}: ${shape}`, ['', 'commits/s', 'ratio', 'median ms', '99 % ms'], rowsOf(sides));
  }

  for (const [shape, atOnce] of [
    ['one at a time', 1],
    [`${AT_ONCE} at once`, AT_ONCE],
  ]) {
    // Its windows are made first, too.
    await each(many.length, AT_ONCE, (index) => commit(watched, many[index]));
    for (const step of STEPS) took[step].length = 0;
    await timed(atOnce, (count) => commit(watched, pick(many, count)));
    printSteps(`${name}: where a commit's time goes, ${MANY_CONVERSATIONS} conversations, ${shape}`, took);
  }
}

function conversationIn(tenantId) {
  return { tenantId, conversationId: randomBytes(16), senderId: randomBytes(16), next: 1_000_000n };
}

function pick(conversations, count) {
  return conversations[count % conversations.length];
}

function messageIn({ tenantId, conversationId, senderId }) {
  const clientMessageId = randomBytes(12).toString('hex');
  return { tenantId, conversationId, senderId, clientMessageId, payload: PAYLOAD };
}

async function commit(writer, conversation) {
  await writer.commit(messageIn(conversation));
}

/** R5.1's statements and append, and nothing else: ids from a counter, one payload that was sealed once. */
async function bareCommit({ messages, writes, log }, sealer, tenantId) {
  const where = { tenantId, conversationId: randomBytes(16), seq: 1n };
  const dekId = await sealer.keyAt(tenantId, where.conversationId, Date.now());
  const payload = await sealer.sealPayload(where, dekId, PAYLOAD);
  return async (conversation) => {
    const { conversationId, senderId } = conversation;
    // Beyond the seqs that the writer hands out in the same conversation.
    const seq = conversation.next++;
    const messageId = randomBytes(16);
    const createdAtMs = BigInt(Date.now());
    const clientMessageId = randomBytes(12).toString('hex');
    const entry = {
      tenantId,
      senderId,
      clientMessageId,
      messageId,
      seq,
      state: DedupState.RESERVED,
      createdAtMs,
    };
    const record = {
      seq,
      messageId,
      lastActivityId: messageId,
      senderId,
      clientMessageId,
      payload,
      state: MessageState.NORMAL,
      createdAtMs,
      retentionClass: 0,
      dekId,
    };
    const life = { ttlSeconds: TTL_SECONDS, timestampMicros: insertMicros(createdAtMs) };
    await writes.reserve(entry);
    await messages.insertRecord({ tenantId, conversationId, seq }, record, life);
    await writes.putIndex(tenantId, messageId, { conversationId, seq }, life);
    const value = encodeLogRecord({
      kind: 'message',
      tenantId,
      conversationId,
      appendedAtMs: createdAtMs,
      record,
    });
    await log.append({ key: conversationId, value });
    await writes.complete(entry);
  };
}

/** Step 7, below every head of the writer's: an epoch 0. */
function bareHead({ writes }, { tenantId, conversationId, senderId, next }) {
  const lastMessageId = randomBytes(16);
  return writes.writeHead(tenantId, conversationId, {
    latestSeq: next,
    lastMessageId,
    lastActivityId: lastMessageId,
    lastSenderId: senderId,
    preview: undefined,
    updatedAtMs: BigInt(Date.now()),
    fencingEpoch: 0n,
    headVersion: next,
  });
}

/** Runs `work` for a while, `atOnce` at a time. */
async function timed(atOnce, work) {
  const latencies = [];
  const startedMs = performance.now();
  const endsMs = startedMs + TURN_MS;
  let count = 0;
  const lane = async () => {
    while (performance.now() < endsMs) {
      const sinceMs = performance.now();
      await work(count++);
      latencies.push(performance.now() - sinceMs);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const perSecond = (latencies.length * 1000) / (performance.now() - startedMs);
  return { perSecond, medianMs: median(latencies), highMs: percentile99(latencies) };
}

function rowsOf(sides) {
  const base = median(sides.bare.slice(1).map(({ perSecond }) => perSecond));
  const named = { 'bare statements': sides.bare, 'and the head': sides.head, Writer: sides.writer };
  return Object.entries(named).map(([name, [, ...turns]]) => {
    const perSecond = median(turns.map((turn) => turn.perSecond));
    return [
      name,
      Math.round(perSecond).toLocaleString('en'),
      `${(perSecond / base).toFixed(2)} ×`,
      median(turns.map(({ medianMs }) => medianMs)).toFixed(2),
      median(turns.map(({ highMs }) => highMs)).toFixed(2),
    ];
  });
}

function printSteps(title, took) {
  const total = STEPS.reduce((sum, step) => sum + mean(took[step]), 0);
  printRows(
    title,
    ['step', 'median ms', 'mean ms', '99 % ms', 'share'],
    STEPS.map((step) => [
      step,
      median(took[step]).toFixed(3),
      mean(took[step]).toFixed(3),
      percentile99(took[step]).toFixed(3),
      `${Math.round((100 * mean(took[step])) / total)} %`,
    ]),
  );
}

function mean(figures) {
  return figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
}

function percentile99(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
}
