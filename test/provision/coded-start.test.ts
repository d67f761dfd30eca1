import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { startCassandra } from '../../src/provision/cassandra.js';
import { codedStart } from '../../src/provision/coded-start.js';
import { startKafka } from '../../src/provision/kafka.js';
import { FakePrograms, JAVA_17 } from './fake-programs.js';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'mailjoin-coded-'));
const fakes = new FakePrograms();
afterAll(() => {
  fakes.remove();
  fs.rmSync(directory, { recursive: true, force: true });
});

describe('codedStart', () => {
  it('tells what the file system refuses as SERVICE_START, with the path', async () => {
    const missing = path.join(directory, 'none', 'deep');
    await expect(codedStart('Kafka', async () => fs.mkdirSync(missing))).rejects.toMatchObject({
      code: 'SERVICE_START',
      message: expect.stringContaining(missing),
      cause: expect.objectContaining({ code: 'ENOENT' }),
    });
  });

  it('leaves coded errors and bugs as they are', async () => {
    for (const error of [new MailjoinError('JAVA_MISSING'), new TypeError('a bug')]) {
      await expect(codedStart('Kafka', () => Promise.reject(error))).rejects.toBe(error);
    }
  });
});

describe('a start whose cache folder is a file', () => {
  it.each([
    ['Cassandra', startCassandra],
    ['Kafka', startKafka],
  ] as const)('of %s → SERVICE_START', async (_name, start) => {
    const file = path.join(directory, 'file');
    fs.writeFileSync(file, '');
    fakes.addJava(JAVA_17);
    fakes.addMaven();
    const environment = { ...fakes.environment, XDG_CACHE_HOME: file };
    await expect(start({ environment })).rejects.toMatchObject({
      code: 'SERVICE_START',
      message: expect.stringContaining(file),
    });
  });
});
