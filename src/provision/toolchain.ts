/**
 * Finds the Java and the Maven of this machine: JAVA_HOME first, then PATH; the version is asked of the program itself.
 * Invariant: a path returned was executed once and answered with an accepted version.
 * Failure: JAVA_MISSING, whose text says what was looked at and what was found; nothing is installed.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { MailjoinError } from '../domain/errors.js';

/** Environment variables by name; passed in so that tests need not touch the process's own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Cassandra 5.0 is run on this major version of Java; its --add-opens list belongs to it. */
export const JAVA_MAJOR = 17;
const VERSION_TIMEOUT_MS = 15_000;

/** Path of a Java of major version 17. */
export async function findJava(environment: Environment): Promise<string> {
  const seen: string[] = [];
  for (const candidate of candidates(environment, 'JAVA_HOME', 'java')) {
    const found = javaMajor(await versionText(candidate, '-version'));
    if (found === JAVA_MAJOR) return candidate;
    seen.push(
      found === undefined ? `${candidate} does not tell its version` : `${candidate} is Java ${found}`,
    );
  }
  const looked = seen.length === 0 ? 'no java in JAVA_HOME or PATH' : seen.join(', ');
  throw new MailjoinError('JAVA_MISSING', `Java ${JAVA_MAJOR} is needed; ${looked}`);
}

/** Path of a Maven that runs on this Java. */
export async function findMaven(environment: Environment): Promise<string> {
  const seen: string[] = [];
  for (const candidate of candidates(environment, 'MAVEN_HOME', 'mvn')) {
    if (/Apache Maven 3\.|Apache Maven 4\./.test(await versionText(candidate, '-version'))) return candidate;
    seen.push(`${candidate} does not answer as Maven 3 or 4`);
  }
  const looked = seen.length === 0 ? 'no mvn in MAVEN_HOME or PATH' : seen.join(', ');
  throw new MailjoinError('JAVA_MISSING', `Maven is needed to fetch the jars; ${looked}`);
}

/** Major version from what `java -version` prints, else undefined; 1.8 counts as 8. */
export function javaMajor(text: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(text);
  return match === null ? undefined : Number(match[1]);
}

function candidates(environment: Environment, homeVariable: string, program: string): string[] {
  const home = environment[homeVariable];
  const folders = (environment.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = folders.map((folder) => join(folder, program));
  if (home !== undefined && home !== '') paths.unshift(join(home, 'bin', program));
  return [...new Set(paths)].filter(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What the program prints about its version, on either stream; empty when it cannot be run. */
function versionText(program: string, argument: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, [argument], { timeout: VERSION_TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve(error === null ? `${stdout}\n${stderr}` : '');
    });
  });
}
