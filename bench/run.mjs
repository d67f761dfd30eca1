/**
 * `npm run bench [-- --store embedded|cql] [--contact-points host:port,…]`
 *
 * A first bench over the real socket against the real `mailjoin serve` in a process of its own. Everything that is
 * compared is measured in one run, in turns, and printed as a ratio. It ends by itself, in less than two minutes.
 *
 *   (a) warm: our client against autocannon, batches of 100 bodies of about 560 bytes
 *   (b) cold and warm joins against one point look-up per message through the same driver
 *   (c) the three media types, warm
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Packr } from 'msgpackr';
import { encodeJoinRequest } from '../dist/client/encode-request.js';
import { MailjoinClient } from '../dist/client/index.js';
import { prepareJoin } from '../dist/client/join-request.js';
import { createRequestBuffer } from '../dist/client/request-buffer.js';
import { createKekFile, loadKekFile } from '../dist/crypto/kek-file.js';
import { formatHex, formatUuid } from '../dist/domain/ids.js';
import { runBounded } from './bounded-run.mjs';
import { fill } from './fill.mjs';
import { cannonFor, joinAll, joinFor, requestOf } from './load.mjs';
import { naiveLookUps } from './naive.mjs';
import { measure, middle, printMachine, printTable } from './report.mjs';
import { startSidecar } from './sidecar.mjs';
import { openStore } from './stores.mjs';

const CONNECTIONS = 8;
const WARM_BATCH = 100;
const TURNS = 3;
const TURN_MS = 1_000;
/** Groups of one turn of (b), and messages of each; and chats of the scattered batches, 20 to a batch. */
const GROUPS = 8;
const GROUP_MESSAGES = 500;
const CHATS = 160;
const CHAT_MESSAGES = 5;
const CHATS_PER_BATCH = 20;
const COLD_AT_ONCE = 4;
/** A warm pass is repeated, or it would be over too soon to be measured. */
const WARM_PASSES = 5;
/** The whole run, a Cassandra's start included. */
const RUN_MS_MAX = 115_000;

const { values } = parseArgs({
  options: { store: { type: 'string', default: 'embedded' }, 'contact-points': { type: 'string' } },
});
const folder = await mkdtemp(join(tmpdir(), 'mailjoin-bench-'));
const socketPath = join(folder, 'bench.sock');
const stops = [() => rm(folder, { recursive: true, force: true })];
await runBounded(bench, stops, RUN_MS_MAX);

async function bench() {
  printMachine();
  const kekPath = join(folder, 'kek');
  await createKekFile(kekPath);
  const kek = await loadKekFile(kekPath);
  const opened = await openStore(values.store, folder, values['contact-points']?.split(','), kekPath);
  stops.push(opened.close);
  const tenantId = randomBytes(16);
  const startedMs = performance.now();
  const groups = await fill(opened, kek, tenantId, GROUPS * (TURNS + 1), GROUP_MESSAGES);
  const chats = await fill(opened, kek, tenantId, CHATS * (TURNS + 1), CHAT_MESSAGES);
  const stored = groups.length * GROUP_MESSAGES + chats.length * CHAT_MESSAGES;
  console.log(
    `${stored.toLocaleString('en')} messages stored (${values.store}) in ${seconds(performance.now() - startedMs)}`,
  );

  const sidecar = await startSidecar(socketPath, opened.settings);
  stops.push(sidecar.stop);
  const client = new MailjoinClient({ socketPath, connectionsMax: CONNECTIONS });
  stops.push(() => client.close());
  await benchReads(opened.store, sidecar, client, 'one group × 500', (turn) =>
    turnOf(groups, GROUPS, turn).map((conversation) => references(conversation)),
  );
  await benchReads(opened.store, sidecar, client, '20 chats × 5', (turn) => {
    const ofTurn = turnOf(chats, CHATS, turn).map((conversation) => references(conversation));
    return Array.from({ length: CHATS / CHATS_PER_BATCH }, (_, batch) =>
      ofTurn.slice(batch * CHATS_PER_BATCH, (batch + 1) * CHATS_PER_BATCH).flat(),
    );
  });
  const warm = references(groups[0]).slice(0, WARM_BATCH);
  await benchClients(sidecar, client, requestOf(warm));
  await benchMediaTypes(sidecar, requestOf(warm));
}

/** (b) Turn 0 warms code and connections up; then the sides take turns, each first in every other one. */
async function benchReads(store, sidecar, client, shape, batchesOf) {
  const sides = { naive: [], encoded: [], cold: [], warm: [] };
  for (let turn = 0; turn <= TURNS; turn++) {
    const batches = batchesOf(turn);
    const requests = batches.map((batch) => requestOf(batch));
    const repeated = Array.from({ length: WARM_PASSES }, () => requests).flat();
    const naive = async () => {
      sides.naive.push(await measure(sidecar, () => naiveLookUps(store, batches, false)));
      sides.encoded.push(await measure(sidecar, () => naiveLookUps(store, batches, true)));
    };
    if (turn % 2 === 0) await naive();
    sides.cold.push(await measure(sidecar, () => joinAll(client, requests, COLD_AT_ONCE)));
    sides.warm.push(await measure(sidecar, () => joinAll(client, repeated, COLD_AT_ONCE)));
    if (turn % 2 === 1) await naive();
  }
  const measured = ([, ...turns]) => middle(turns);
  printTable(`(b) ${values.store}, ${shape}: joins against one look-up per message`, [
    { name: 'look-up per message', ...measured(sides.naive), note: 'in this process, rows only' },
    { name: 'look-up, open, encode', ...measured(sides.encoded), note: 'in this process, bodies' },
    { name: 'join, cold', ...measured(sides.cold), note: 'over the socket, bodies' },
    { name: 'join, warm', ...measured(sides.warm), note: 'over the socket, bodies' },
  ]);
}

/** (a) */
async function benchClients(sidecar, client, request) {
  const type = 'application/x-protobuf';
  const body = protobufOf(request);
  const cannon = () => cannonFor(socketPath, body, type, WARM_BATCH, CONNECTIONS, TURN_MS);
  const ours = () => joinFor(client, request, CONNECTIONS, TURN_MS);
  const sides = { cannon: [], ours: [] };
  await ours();
  for (let turn = 0; turn < TURNS; turn++) {
    sides.cannon.push(await measure(sidecar, cannon));
    sides.ours.push(await measure(sidecar, ours));
  }
  const bodyBytes = Math.round(sides.ours[0].bodyBytes);
  printTable(`(a) warm batches of ${WARM_BATCH} bodies of ${bodyBytes} bytes, ${CONNECTIONS} connections`, [
    { name: 'autocannon', ...middle(sides.cannon), note: 'response not decoded' },
    { name: 'mailjoin/client', ...middle(sides.ours), note: 'decoded, every body looked at' },
  ]);
}

/** (c) */
async function benchMediaTypes(sidecar, request) {
  const packr = new Packr({ useRecords: false });
  const same = (value) => value;
  const bodies = {
    'application/x-protobuf': protobufOf(request),
    'application/msgpack': packr.pack(looseOf(request, same, same, same)),
    'application/json': Buffer.from(JSON.stringify(looseOf(request, formatUuid, formatHex, String))),
  };
  const sides = Object.fromEntries(Object.keys(bodies).map((type) => [type, []]));
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [type, body] of Object.entries(bodies)) {
      const cannon = () => cannonFor(socketPath, body, type, WARM_BATCH, CONNECTIONS, TURN_MS);
      sides[type].push(await measure(sidecar, cannon));
    }
  }
  printTable(
    '(c) media types, warm, by autocannon',
    Object.entries(sides).map(([name, turns]) => ({
      name,
      ...middle(turns),
      note: `${Math.round(turns[0].bytes / 1024)} KiB a response`,
    })),
  );
}

/** The request's body as our client sends it. */
function protobufOf(request) {
  const messageAt = new Int32Array(request.entries.length);
  const sent = encodeJoinRequest(
    createRequestBuffer(),
    prepareJoin(request),
    undefined,
    request.deadlineMs,
    messageAt,
  );
  const bytes = Buffer.from(sent);
  return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
}

/** The request in the names of the contract, for the self-describing media types. */
function looseOf({ kind, tenantId, entries, deadlineMs }, uuid, id, seq) {
  return {
    kind,
    tenant_id: uuid(tenantId),
    deadline_ms: deadlineMs,
    entries: entries.map((entry) => ({
      conversation_id: uuid(entry.conversationId),
      conversation_seq: seq(entry.seq),
      message_id: id(entry.messageId),
    })),
  };
}

function references(conversation) {
  return conversation.seqs.map((_, at) => ({ conversation, at }));
}

function turnOf(conversations, perTurn, turn) {
  return conversations.slice(turn * perTurn, (turn + 1) * perTurn);
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
