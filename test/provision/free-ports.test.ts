// Free ports: distinct, usable, and an error instead of a guess.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../../src/provision/free-ports.js';

describe('freePorts', () => {
  it('fails when no port can be had on an address', async () => {
    // An address kept for documentation: no machine has it.
    await expect(freePorts(1, ['127.0.0.1', '203.0.113.1'])).rejects.toMatchObject({ code: 'SERVICE_START' });
  });

  it('gives distinct ports that can be listened on', async () => {
    const ports = await freePorts(20, ['127.0.0.1']);
    expect(new Set(ports).size).toBe(20);
    for (const port of ports) {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
    }
  });
});
