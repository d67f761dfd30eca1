// How starting Cassandra fails, with stand-ins for java and mvn.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCassandra } from '../../src/provision/cassandra.js';
import { FakePrograms, JAVA_17 } from './fake-programs.js';

describe('startCassandra', () => {
  let fakes: FakePrograms;

  beforeEach(() => {
    fakes = new FakePrograms();
    fakes.addMaven();
  });

  afterEach(() => fakes.remove());

  it('refuses a number of nodes that it cannot start', async () => {
    for (const nodes of [0, -1, 1.5, 9, Number.NaN]) {
      await expect(startCassandra({ nodes, environment: fakes.environment })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
    }
  });

  it('does not ask Maven for anything where there is no Java', async () => {
    await expect(startCassandra({ environment: fakes.environment })).rejects.toMatchObject({
      code: 'JAVA_MISSING',
    });
    expect(fakes.runs('mvn')).toBe(0);
  });

  it('tells why the server ended, and leaves no folder behind', async () => {
    fakes.addJava(JAVA_17, 'pwd; echo "no heap for you"; exit 1');
    const error: unknown = await startCassandra({ environment: fakes.environment }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({
      code: 'SERVICE_START',
      message: expect.stringContaining('no heap for you'),
    });
    const folder = /^\/.*mailjoin-cassandra-.*$/m.exec((error as Error).message)?.[0];
    expect(folder).toBeDefined();
    expect(existsSync(join(folder as string, '..'))).toBe(false);
  });

  it('tries other ports when one was taken meanwhile, but not for ever, and not where the ports were given', async () => {
    fakes.addJava(JAVA_17, 'echo "java.net.BindException: Address already in use"; exit 1');
    const { environment } = fakes;
    await expect(startCassandra({ environment })).rejects.toMatchObject({ code: 'SERVICE_START' });
    expect(fakes.runs('java')).toBe(3);
    const ports = { native: 20_001, storage: 20_002 };
    await expect(startCassandra({ environment, ports })).rejects.toMatchObject({ code: 'SERVICE_START' });
    expect(fakes.runs('java')).toBe(4);
  });

  it('gives up a server that never listens, and ends it', async () => {
    fakes.addJava(JAVA_17, 'echo "pid $$"; exec sleep 600');
    const error: unknown = await startCassandra({ environment: fakes.environment, timeoutMs: 500 }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'SERVICE_START' });
    const pid = Number(/pid (\d+)/.exec((error as Error).message)?.[1]);
    expect(() => process.kill(pid, 0)).toThrow();
  });
});
