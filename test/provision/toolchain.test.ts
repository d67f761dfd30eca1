// Finding Java and Maven, above all saying what is missing.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findJava, findMaven, javaMajor } from '../../src/provision/toolchain.js';
import { FakePrograms, JAVA_17 } from './fake-programs.js';

let fakes: FakePrograms;

beforeEach(() => {
  fakes = new FakePrograms();
});

afterEach(() => fakes.remove());

describe('findJava', () => {
  it('says that there is none', async () => {
    await expect(findJava(fakes.environment)).rejects.toMatchObject({
      code: 'JAVA_MISSING',
      message: expect.stringContaining('no java in JAVA_HOME or PATH'),
    });
    await expect(findJava({})).rejects.toMatchObject({ code: 'JAVA_MISSING' });
  });

  it('names each Java of another version, and each that does not answer', async () => {
    const old = fakes.addJava('openjdk version "1.8.0_392"');
    const broken = fakes.add('java', 'exit 3', join(fakes.root, 'home', 'bin'));
    const environment = { ...fakes.environment, JAVA_HOME: join(fakes.root, 'home') };
    await expect(findJava(environment)).rejects.toMatchObject({
      code: 'JAVA_MISSING',
      message: expect.stringContaining(`${broken} does not tell its version, ${old} is Java 8`),
    });
  });

  it('takes JAVA_HOME before PATH', async () => {
    fakes.addJava(JAVA_17);
    const home = fakes.addJava(JAVA_17, '', join(fakes.root, 'home', 'bin'));
    const environment = { ...fakes.environment, JAVA_HOME: join(fakes.root, 'home') };
    await expect(findJava(environment)).resolves.toBe(home);
  });

  it('goes on to PATH when JAVA_HOME has another version', async () => {
    const path = fakes.addJava(JAVA_17);
    fakes.addJava('openjdk version "21.0.1"', '', join(fakes.root, 'home', 'bin'));
    const environment = { ...fakes.environment, JAVA_HOME: join(fakes.root, 'home') };
    await expect(findJava(environment)).resolves.toBe(path);
  });
});

describe('findMaven', () => {
  it('says that there is none, and what else was found under its name', async () => {
    await expect(findMaven(fakes.environment)).rejects.toMatchObject({ code: 'JAVA_MISSING' });
    const other = fakes.add('mvn', 'echo something else');
    await expect(findMaven(fakes.environment)).rejects.toMatchObject({
      message: expect.stringContaining(`${other} does not answer as Maven`),
    });
  });

  it('finds one in PATH', async () => {
    const maven = fakes.addMaven();
    await expect(findMaven(fakes.environment)).resolves.toBe(maven);
  });
});

describe('javaMajor', () => {
  it.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['java version "1.8.0_392"', 8],
    ['openjdk version "21" 2023-09-19', 21],
    ['Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17" 2021-09-14', 17],
    ['command not found', undefined],
    ['', undefined],
  ])('reads %j', (text, major) => {
    expect(javaMajor(text)).toBe(major);
  });
});
