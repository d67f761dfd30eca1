/**
 * Fetches a Maven artifact with everything it needs, once per machine and version, into the OS's cache folder.
 *
 *     <cache>/mailjoin/<name>-<version>/*.jar      exists = complete: it is renamed into place after the last jar
 *     <cache>/mailjoin/<name>-<version>.lock       holds the pid of the process that resolves now
 *     <cache>/mailjoin/<name>-<version>.<pid>      where that process works
 *
 * The lock only saves double work; correctness rests on the rename, so a lock broken twice costs a repeat.
 * Which registry is asked is Maven's own configuration. Failure: JAVA_MISSING without Maven, SERVICE_START with
 * the end of Maven's output.
 */
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MailjoinError } from '../domain/errors.js';
import { ServiceProcess } from './service-process.js';
import { type Environment, findMaven } from './toolchain.js';

export interface JarSet {
  /** Name of its folder in the cache. */
  readonly name: string;
  readonly version: string;
  /** Maven coordinates, group:artifact:version. */
  readonly artifacts: readonly string[];
}

const COPY_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const RESOLVE_TIMEOUT_MS = 300_000;
const LOCK_POLL_MS = 200;

/** The folder that holds every jar set: the OS's cache folder of this user. */
export function cacheFolder(environment: Environment): string {
  const named = environment.XDG_CACHE_HOME;
  if (named !== undefined && named !== '') return join(named, 'mailjoin');
  const home = environment.HOME ?? homedir();
  return process.platform === 'darwin'
    ? join(home, 'Library', 'Caches', 'mailjoin')
    : join(home, '.cache', 'mailjoin');
}

/** Paths of the jars of a set, fetched with Maven where the cache does not hold them. */
export async function resolveJars(
  jars: JarSet,
  environment: Environment,
  onProgress: (text: string) => void,
): Promise<readonly string[]> {
  const folder = cacheFolder(environment);
  const target = join(folder, `${jars.name}-${jars.version}`);
  if (!existsSync(target)) {
    await mkdir(folder, { recursive: true });
    await fillOnce(jars, target, environment, onProgress);
  }
  const names = (await readdir(target)).filter((name) => name.endsWith('.jar')).sort();
  return names.map((name) => join(target, name));
}

async function fillOnce(
  jars: JarSet,
  target: string,
  environment: Environment,
  onProgress: (text: string) => void,
): Promise<void> {
  const lock = `${target}.lock`;
  const giveUpAtMs = Date.now() + RESOLVE_TIMEOUT_MS;
  let told = false;
  while (!(await takeLock(lock))) {
    if (!told) onProgress(`another process is fetching ${jars.name} ${jars.version}; waiting for it`);
    told = true;
    if (Date.now() > giveUpAtMs) throw new MailjoinError('SERVICE_START', `the lock ${lock} is not given up`);
    await delay(LOCK_POLL_MS);
    if (existsSync(target)) return;
  }
  try {
    if (!existsSync(target)) await fetchJars(jars, target, environment, onProgress);
  } finally {
    await rm(lock, { force: true });
  }
}

/** True when the lock is ours now. A lock whose process is gone is removed; the next attempt takes it. */
async function takeLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, 'wx');
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = await readFile(lock, 'utf8').catch(() => '');
  // An empty lock is being written right now by a holder that took it a moment ago.
  if (holder !== '' && !isAlive(Number(holder))) await rm(lock, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function fetchJars(
  jars: JarSet,
  target: string,
  environment: Environment,
  onProgress: (text: string) => void,
): Promise<void> {
  const maven = await findMaven(environment);
  const staging = `${target}.${process.pid}`;
  const folder = join(staging, 'jars');
  await rm(staging, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(staging, 'pom.xml'), pomOf(jars));
  onProgress(`fetching ${jars.name} ${jars.version} with Maven (once; kept in the cache folder)`);
  const startedAtMs = Date.now();
  const run = await ServiceProcess.start({
    name: 'Maven',
    program: maven,
    // Strict checksums: a jar that arrives damaged fails here, not as a riddle inside the JVM.
    args: ['-B', '-q', '-C', COPY_GOAL, '-DincludeScope=runtime', `-DoutputDirectory=${folder}`],
    environment,
    workingFolder: staging,
    logPath: join(staging, 'maven.log'),
    temporaryFolder: staging,
  });
  try {
    await run.succeeded(RESOLVE_TIMEOUT_MS);
    await rename(folder, target);
    onProgress(`fetched ${jars.name} ${jars.version} in ${Math.round((Date.now() - startedAtMs) / 1000)} s`);
  } finally {
    await run.stop();
  }
}

/** A project with nothing but dependencies. */
function pomOf(jars: JarSet): string {
  const dependencies = jars.artifacts.map((coordinates) => {
    const [group, artifact, version] = coordinates.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return [
    '<project>',
    '<modelVersion>4.0.0</modelVersion>',
    `<groupId>mailjoin.provision</groupId><artifactId>${jars.name}</artifactId><version>1</version>`,
    '<packaging>pom</packaging>',
    `<dependencies>${dependencies.join('')}</dependencies>`,
    '</project>',
  ].join('\n');
}
