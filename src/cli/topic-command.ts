/**
 * `mailjoin topic apply`: makes the topic of the log, once. One that is there is looked at and left as it is: its number
 * of partitions must never change (a conversation's order holds within one), and its settings are its operator's.
 */
import { BROKER_SETTINGS, type Command, ExitCode, type Invocation } from './command.js';
import { numberOption } from './number-option.js';
import { SettingsError } from './settings-error.js';
import { brokersReached } from './tls-settings.js';

const PARTITIONS_FLAG = 'partitions';
const REPLICATION_FLAG = 'replication-factor';
const PARTITIONS_DEFAULT = 12;
const PARTITIONS_MAX = 10_000;
/** With three, a record that was acknowledged survives the loss of a broker (topic-settings.ts). */
const REPLICATION_DEFAULT = 3;
/** The protocol's own: an int16. */
const REPLICATION_MAX = 0x7fff;

export const topicCommand: Command = {
  name: 'topic apply',
  operands: '',
  operandCountMin: 0,
  operandCountMax: 0,
  summary: 'Make the topic of the log where it is missing; exit 1 when one that is there cannot be a log.',
  settings: ['config', 'logLevel', ...BROKER_SETTINGS, 'topic'],
  options: [
    {
      flag: PARTITIONS_FLAG,
      placeholder: 'n',
      meaning: `Partitions of a topic that is made, never to be changed: readers that share the work, at most. Default: ${PARTITIONS_DEFAULT}.`,
    },
    {
      flag: REPLICATION_FLAG,
      placeholder: 'n',
      meaning: `Brokers that have each record of a topic that is made. Default: ${REPLICATION_DEFAULT}.`,
    },
  ],
  run: apply,
};

async function apply({ settings, options, print }: Invocation): Promise<ExitCode> {
  if (settings.brokers === undefined) {
    throw new SettingsError([
      { setting: 'brokers', source: 'not given', reason: 'a topic lies on at least one' },
    ]);
  }
  const partitions = numberOption(options, PARTITIONS_FLAG, PARTITIONS_DEFAULT, {
    min: 1,
    max: PARTITIONS_MAX,
  });
  const replicationFactor = numberOption(options, REPLICATION_FLAG, REPLICATION_DEFAULT, {
    min: 1,
    max: REPLICATION_MAX,
  });
  const { topic } = settings;
  const where = { ...brokersReached(settings), topic };
  // Kafka's client is loaded only where it is used.
  const { describeTopic, ensureTopic } = await import('../kafka/ensure-topic.js');
  if (await ensureTopic({ ...where, partitions, replicationFactor })) {
    print(`topic ${topic} is made: ${partitions} partitions, replication factor ${replicationFactor}`);
    return ExitCode.OK;
  }
  const { topicFindings } = await import('../kafka/topic-settings.js');
  const found = await describeTopic(where);
  print(
    `topic ${topic} is there, and is left as it is: ${found.partitions} partitions, replication factor ${found.replicationFactor}`,
  );
  if (options.has(PARTITIONS_FLAG) && found.partitions !== partitions) {
    print(
      `partitions are ${found.partitions}, not ${partitions}: they are never changed, since a conversation’s order holds within one`,
    );
  }
  if (options.has(REPLICATION_FLAG) && found.replicationFactor !== replicationFactor) {
    print(
      `the replication factor is ${found.replicationFactor}, not ${replicationFactor}: your brokers’ own tools change it`,
    );
  }
  const findings = topicFindings(found.settings);
  for (const { text } of findings) print(text);
  return findings.some(({ isHarmful }) => isHarmful) ? ExitCode.FAILED : ExitCode.OK;
}
