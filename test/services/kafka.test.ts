/** The shared Kafka itself: that a test file gets one, and that it speaks the protocol. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { describeWithKafka } from './kafka.js';

// ApiVersions v0 with correlation id 7 and no client id: length | key 18 | version 0 | 7 | null string.
const API_VERSIONS = Buffer.from('0000000a0012000000000007ffff', 'hex');

describeWithKafka('the shared Kafka', ({ contactPoint }) => {
  it('answers ApiVersions without an error', async () => {
    const [host, port] = contactPoint.split(':') as [string, string];
    const socket = connect({ host, port: Number(port) });
    try {
      await once(socket, 'connect');
      socket.write(API_VERSIONS);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.readInt32BE(4)).toBe(7);
      expect(answer.readInt16BE(8)).toBe(0);
    } finally {
      socket.destroy();
    }
  });
});
