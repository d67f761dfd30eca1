// Runs as a process of its own for processes.test.ts, on the built files: writes to a directory as its argument says.
import { openEmbedded } from '../../dist/embedded/open-embedded.js';

const [directory, role, name] = process.argv.slice(2);
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
const { store, keys, writes, close } = await openEmbedded(directory, clock);
const where = (seq) => ({ tenantId: new Uint8Array(16), conversationId: new Uint8Array(16), seq });

if (role === 'merge') {
  const won = [];
  for (let i = 0; i < 50; i++) {
    const counts = [[`${name}-${i}`, i + 1]];
    await store.putSummary(where(1n), { seq: 1n, version: 1n, counts, updatedAtMs: 1n });
    const dekId = { scope: 'race', id: String(i), version: 1 };
    const key = { dekId, wrapped: Buffer.from(name), createdAtEpochMs: 1, destroyedAtEpochMs: undefined };
    if (await keys.insert(key)) won.push(i);
  }
  await close();
  process.stdout.write(`${won.join(' ')}\n`);
} else if (role === 'windows') {
  // Until it is killed: each window is told once it is reserved.
  const zero = new Uint8Array(16);
  for (;;) {
    const { first, count } = await writes.reserveWindow(zero, zero, 5, 1n);
    process.stdout.write(`${first} ${count}\n`);
  }
} else {
  // Until it is killed: each seq is told once the promise of its write has resolved.
  for (let seq = 0n; ; seq++) {
    const counts = [['a', 1]];
    await store.putSummary(where(seq), { seq, version: 1n, counts, updatedAtMs: 1n });
    process.stdout.write(`${seq}\n`);
  }
}
