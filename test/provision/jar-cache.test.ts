// The cache of jars with a stand-in for Maven: fetched once, whole or not at all.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheFolder, type JarSet, resolveJars } from '../../src/provision/jar-cache.js';
import { FakePrograms } from './fake-programs.js';

const JARS: JarSet = { name: 'thing', version: '1.2', artifacts: ['a.b:thing:1.2'] };
/** Above every pid that Linux gives out. */
const PID_OF_NOBODY = 4_194_305;

let fakes: FakePrograms;

beforeEach(() => {
  fakes = new FakePrograms();
});

afterEach(() => fakes.remove());

function resolve(onProgress = (_: string) => {}): Promise<readonly string[]> {
  return resolveJars(JARS, fakes.environment, onProgress);
}

describe('resolveJars', () => {
  it('needs Maven only while the cache does not hold the jars', async () => {
    await expect(resolve()).rejects.toMatchObject({ code: 'JAVA_MISSING' });
    mkdirSync(join(fakes.cache, 'thing-1.2'), { recursive: true });
    writeFileSync(join(fakes.cache, 'thing-1.2', 'one.jar'), '');
    await expect(resolve()).resolves.toEqual([join(fakes.cache, 'thing-1.2', 'one.jar')]);
  });

  it('tells the end of what a failing Maven printed, leaves nothing behind, and can be tried again', async () => {
    fakes.addMaven("echo 'could not reach it'; exit 7");
    await expect(resolve()).rejects.toMatchObject({
      code: 'SERVICE_START',
      message: expect.stringMatching(/ended with code 7[\s\S]*could not reach it/),
    });
    expect(existsSync(fakes.cache) ? readdirSync(fakes.cache) : []).toEqual([]);
    fakes.addMaven();
    await expect(resolve()).resolves.toHaveLength(1);
  });

  it('fetches once, and asks for exactly the artifact', async () => {
    fakes.addMaven(`grep -q '<artifactId>thing</artifactId><version>1.2</version>' pom.xml || exit 9`);
    const progress: string[] = [];
    const first = await resolve((text) => progress.push(text));
    expect(first).toEqual([join(fakes.cache, 'thing-1.2', 'one.jar')]);
    expect(progress).toHaveLength(2);
    expect(await resolve()).toEqual(first);
    expect(fakes.runs('mvn')).toBe(1);
    expect(readdirSync(fakes.cache)).toEqual(['thing-1.2']);
  });

  it('waits for whoever is fetching, instead of fetching too', async () => {
    fakes.addMaven();
    const progress: string[] = [];
    const both = await Promise.all([resolve(), resolve((text) => progress.push(text))]);
    expect(both[0]).toEqual(both[1]);
    expect(fakes.runs('mvn')).toBe(1);
  });

  it('breaks the lock of a process that is gone', async () => {
    fakes.addMaven();
    mkdirSync(fakes.cache, { recursive: true });
    writeFileSync(join(fakes.cache, 'thing-1.2.lock'), String(PID_OF_NOBODY));
    await expect(resolve()).resolves.toHaveLength(1);
    expect(readdirSync(fakes.cache)).toEqual(['thing-1.2']);
  });
});

describe('cacheFolder', () => {
  it('is the one that the system names, else the usual one', () => {
    expect(cacheFolder({ XDG_CACHE_HOME: '/x/cache', HOME: '/x/me' })).toBe('/x/cache/mailjoin');
    expect(cacheFolder({ XDG_CACHE_HOME: '', HOME: '/x/me' })).toMatch(/^\/x\/me\/.*[cC]aches?\/mailjoin$/);
  });
});
