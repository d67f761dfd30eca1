import { randomBytes } from 'node:crypto';
import { ensureTopic } from '../../src/kafka/ensure-topic.js';
import { KafkaLog } from '../../src/kafka/kafka-log.js';
import { describeWithKafka } from '../services/kafka.js';
import { logContract } from '../stores/log-contract.js';

describeWithKafka('Kafka', ({ contactPoint }) => {
  logContract('kafka', async () => {
    const topic = `contract-${randomBytes(6).toString('hex')}`;
    const connect = { brokers: [contactPoint], topic };
    await ensureTopic({ ...connect, partitions: 3, replicationFactor: 1 });
    const clock = { nowMs: () => performance.now(), epochMs: () => Date.now() };
    return {
      takeoverMs: 30_000,
      partitions: 3,
      memberArgs: ['kafka', contactPoint, topic],
      open: () => KafkaLog.open({ ...connect, clock }),
      close: async () => {},
    };
  });
});
