// The broker of real servers: one start per run, a reason where there is none, and nothing left running.
import { afterEach, describe, expect, it } from 'vitest';
import { MailjoinError } from '../../src/domain/errors.js';
import { askBroker, ServiceBroker, type ServiceStarters } from './service-broker.js';

let broker: ServiceBroker | undefined;

afterEach(() => broker?.close());

async function open(starters: ServiceStarters): Promise<ServiceBroker> {
  broker = await ServiceBroker.open(starters);
  return broker;
}

const RUNNING = { contactPoint: '127.0.0.1:1', localDataCenter: 'dc', stop: async () => {} };

describe('the broker of real servers', () => {
  it('tells a machine that cannot have one from a start that went wrong, and tries neither again', async () => {
    let starts = 0;
    const failing = (error: Error) => async () => {
      starts++;
      throw error;
    };
    const { url } = await open({
      absent: failing(new MailjoinError('JAVA_MISSING', 'none')),
      broken: failing(new MailjoinError('SERVICE_START', 'it fell over')),
    });
    expect(await askBroker(url, 'absent')).toMatchObject({ broken: false });
    expect(await askBroker(url, 'broken')).toMatchObject({
      skipped: expect.stringContaining('it fell over'),
      broken: true,
    });
    await askBroker(url, 'absent');
    expect(starts).toBe(2);
  });

  it('says that it does not know a service', async () => {
    const { url } = await open({});
    expect(await askBroker(url, 'other')).toMatchObject({ broken: true });
  });

  it('starts nothing that nobody asks for, and one for all who do', async () => {
    let starts = 0;
    const { url } = await open({
      wanted: async () => {
        starts++;
        return RUNNING;
      },
      unwanted: async () => {
        throw new Error('nobody asked');
      },
    });
    const answers = await Promise.all([askBroker(url, 'wanted'), askBroker(url, 'wanted')]);
    expect(answers).toEqual([
      { contactPoint: '127.0.0.1:1', localDataCenter: 'dc' },
      { contactPoint: '127.0.0.1:1', localDataCenter: 'dc' },
    ]);
    expect(starts).toBe(1);
  });

  it('stops what it started, also what is still starting when it closes', async () => {
    let stops = 0;
    let finishStart = () => {};
    const starting = new Promise<void>((resolve) => {
      finishStart = resolve;
    });
    const opened = await open({
      slow: async () => {
        await starting;
        return { ...RUNNING, stop: async () => void stops++ };
      },
    });
    const asked = askBroker(opened.url, 'slow').catch(() => 'cut off');
    await expect.poll(() => opened.startedCount).toBe(1);
    const closed = opened.close();
    finishStart();
    await closed;
    expect(stops).toBe(1);
    expect(await asked).toBe('cut off');
  });
});
