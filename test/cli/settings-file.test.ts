/** Files that settings name: what is none is refused, and nothing is waited for. Needs the built files (npm run build). */
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSettingsFile, readSettingsJson } from '../../src/cli/settings-file.js';
import { temporaryDirectory } from '../server/server-fixture.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

function file(content: string): string {
  const place = path.join(directory, 'file');
  fs.writeFileSync(place, content);
  return place;
}

describe('a file of a setting', () => {
  it('is refused when it is not there, no file, or too large, without a word of its content', () => {
    expect(readSettingsFile(path.join(directory, 'none'))).toEqual({ problem: 'cannot be read' });
    expect(readSettingsFile(directory)).toEqual({ problem: 'is no regular file' });
    expect(readSettingsFile('/dev/zero')).toEqual({ problem: 'is no regular file' });
    const large = { problem: 'is larger than such a file, 3 bytes at most' };
    expect(readSettingsFile(file('four'), 3)).toEqual(large);
    expect(readSettingsJson(file('"four"'), 3)).toEqual(large);
    expect(readSettingsJson(file('{"password": secret}'))).toEqual({ problem: 'is no JSON' });
  });

  it('may be a link to one, as mounted secrets are', () => {
    const link = path.join(directory, 'link');
    fs.symlinkSync(file('"text"'), link);
    expect(readSettingsFile(link)).toEqual({ text: '"text"' });
    expect(readSettingsJson(link, 6)).toEqual({ content: 'text' });
  });

  // In a process of its own: whoever waits for a pipe answers no signal, and no test's deadline.
  it.each<[string, readonly string[], readonly string[]]>([
    ['a config file', ['--config'], ['config']],
    [
      'any other',
      [
        ...['--store=cql', '--contact-points=a', '--tls', '--username=u', '--password-file', '--kek-file'],
        ...['--tls-ca-file', '--tls-cert-file', '--tls-key-file', '--retention-file', '--read-costs'],
        ...[
          '--brokers=a:1',
          '--brokers-tls',
          '--brokers-ca-file',
          '--brokers-cert-file',
          '--brokers-key-file',
        ],
        ...['--brokers-sasl=plain', '--brokers-username=u', '--brokers-password-file'],
      ],
      [
        ...[
          'passwordFile',
          'kekFile',
          'tlsCaFile',
          'tlsCertFile',
          'tlsKeyFile',
          'retentionFile',
          'readCosts',
        ],
        ...['brokersCaFile', 'brokersCertFile', 'brokersKeyFile', 'brokersPasswordFile'],
      ],
    ],
  ])(
    '%s that is a pipe is refused, instead of being waited for',
    (_, flags, settings) => {
      const pipe = path.join(directory, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const words = flags.flatMap((flag) => (/-(file|costs)$|^--config$/.test(flag) ? [flag, pipe] : [flag]));
      const ended = spawnSync(process.execPath, [MAIN, 'serve', ...words], {
        cwd: directory,
        encoding: 'utf8',
        timeout: 30_000,
        killSignal: 'SIGKILL',
      });
      const refused = [...ended.stderr.matchAll(/^ {2}(\w+) \(.*\): is no regular file$/gm)].map(
        ([, name]) => name,
      );
      expect([ended.status, refused.sort()]).toEqual([2, [...settings].sort()]);
    },
    60_000,
  );
});
