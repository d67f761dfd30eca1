/** Stand-ins for java and mvn: shell scripts in a folder of their own, and a PATH that has nothing else. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../src/provision/toolchain.js';

export const JAVA_17 = 'openjdk version "17.0.9" 2023-10-17';

export class FakePrograms {
  readonly root = mkdtempSync(join(tmpdir(), 'mailjoin-fake-'));
  readonly folder = join(this.root, 'bin');
  readonly cache = join(this.root, 'cache', 'mailjoin');
  readonly environment: Environment = { PATH: this.folder, XDG_CACHE_HOME: join(this.root, 'cache') };

  /** Adds a program that runs these lines of shell. */
  add(name: string, script: string, folder = this.folder): string {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A java that tells its version, and does these lines of shell when it is to run a server. */
  addJava(version: string, server = 'exit 1', folder = this.folder): string {
    const count = `echo run >> '${join(this.root, 'java-runs')}'`;
    return this.add(
      'java',
      `[ "$1" != -version ] || { echo '${version}' >&2; exit 0; }\n${count}\n${server}`,
      folder,
    );
  }

  /** A mvn that tells its version, and puts one jar where it is told to, after these lines of shell. */
  addMaven(before = 'true'): string {
    return this.add(
      'mvn',
      `[ "$1" != -version ] || { echo 'Apache Maven 3.9.9'; exit 0; }
echo run >> '${join(this.root, 'mvn-runs')}'
${before}
for argument; do case $argument in -DoutputDirectory=*) : > "\${argument#*=}/one.jar";; esac; done`,
    );
  }

  /** How often a program ran, beside telling its version. */
  runs(name: 'java' | 'mvn'): number {
    const path = join(this.root, `${name}-runs`);
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
