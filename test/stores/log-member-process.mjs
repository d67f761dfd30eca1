// Runs as a process of its own for log-contract.ts, on the built files: a member of a group that tells what it is given
// and how far behind it is, and never finishes with a record that says "hang".
const [kind, place, topic, group] = process.argv.slice(2);
const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };

async function openLog() {
  if (kind === 'kafka') {
    const { KafkaLog } = await import('../../dist/kafka/kafka-log.js');
    return new KafkaLog({ brokers: [place], topic, clock, sessionMs: 6_000 });
  }
  const { openEmbedded } = await import('../../dist/embedded/open-embedded.js');
  return (await openEmbedded(place, clock)).log;
}

const log = await openLog();
await log.consume({
  group,
  signal: new AbortController().signal,
  onLag: (lag) => process.stdout.write(`lag ${lag}\n`),
  onEntries: async (entries) => {
    for (const { value } of entries) {
      const text = Buffer.from(value).toString('latin1').slice(0, 60);
      process.stdout.write(`got ${text}\n`);
      if (text.startsWith('hang')) await new Promise(() => {});
    }
  },
});
