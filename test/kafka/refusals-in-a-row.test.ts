// A scripted consumer: a real broker cannot be made to refuse, serve and refuse again at chosen moments.
import kafkajs, { type Kafka } from 'kafkajs';
import { expect, it } from 'vitest';
import { consumeAsMember } from '../../src/kafka/group-consumer.js';

const { events } = new kafkajs.Kafka({ brokers: ['localhost:1'] }).consumer({ groupId: 'g' });
const REFUSAL = Object.assign(new Error('not you'), { type: 'GROUP_AUTHORIZATION_FAILED' });

/** What a membership lives to see before it ends with a refusal. */
type Seen = 'nothing' | 'joined' | 'joined for nothing' | 'fetched nothing' | 'fetched';

const ONE_PARTITION = { memberAssignment: { t: [0] } };
const EVENTS: Record<Seen, readonly (readonly [string, object])[]> = {
  nothing: [],
  joined: [[events.GROUP_JOIN, ONE_PARTITION]],
  'joined for nothing': [[events.GROUP_JOIN, { memberAssignment: {} }]],
  'fetched nothing': [
    [events.GROUP_JOIN, ONE_PARTITION],
    [events.FETCH, { numberOfBatches: 0 }],
  ],
  fetched: [
    [events.GROUP_JOIN, ONE_PARTITION],
    [events.FETCH, { numberOfBatches: 1 }],
  ],
};

/** How many memberships there were before the refusal was believed; the script's last one is repeated. */
async function membershipsUntilRefused(script: readonly Seen[]): Promise<number> {
  let memberships = 0;
  const consumer = () => {
    const seen = script[Math.min(memberships++, script.length - 1)] ?? 'nothing';
    const listeners = new Map<string, (event: { payload: unknown }) => void>();
    return {
      events,
      on: (name: string, listener: (event: { payload: unknown }) => void) => listeners.set(name, listener),
      connect: async () => {},
      subscribe: async () => {},
      run: async () => {
        for (const [name, payload] of EVENTS[seen]) listeners.get(name)?.({ payload });
        listeners.get(events.CRASH)?.({ payload: { error: REFUSAL } });
      },
      disconnect: async () => {},
    };
  };
  // Only what a member of a group uses of a client.
  const kafka = { consumer } as unknown as Kafka;
  const { signal } = new AbortController();
  const consuming = consumeAsMember(
    { kafka, topic: 't', timeoutMs: 1_000, sessionMs: 1_000 },
    { group: 'g', onEntries: async () => {}, signal },
    signal,
  );
  await expect(consuming).rejects.toMatchObject({ code: 'LOG_REFUSED' });
  return memberships;
}

it.each<[Seen, number]>([
  ['nothing', 3],
  // Rights on the group are not those on the topic: whoever may join and never read would join for ever.
  ['joined', 3],
  ['fetched nothing', 3],
  ['fetched', 5],
  ['joined for nothing', 5],
])(
  'a third refusal is the last one unless the membership before it worked: %s → %d memberships',
  async (third, memberships) => {
    expect(await membershipsUntilRefused(['nothing', 'nothing', third, 'nothing'])).toBe(memberships);
  },
);
