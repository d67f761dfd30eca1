/**
 * The README's section on writing: its program is type-checked as a package of the reader's own would be and run, its
 * commands and its retention file work as they stand. Needs the built files (npm run build).
 */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { idKeyAt } from '../../src/domain/ids.js';
import { parseRetentionPolicies } from '../../src/write/retention-policies.js';
import { temporaryDirectory } from '../server/server-fixture.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const README = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const WRITING = README.slice(README.indexOf('## Writing'), README.indexOf('## Archive, advance, capacity'));
const run = promisify(execFile);

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

function block(language: string): string {
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(WRITING)?.[1] ?? '';
}

/** A package of the reader's that depends on this one. */
function readersPackage(): void {
  fs.mkdirSync(path.join(directory, 'node_modules'));
  fs.symlinkSync(ROOT, path.join(directory, 'node_modules', 'mailjoin'));
  fs.writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}');
  const compilerOptions = {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [path.join(ROOT, 'node_modules', '@types')],
  };
  fs.writeFileSync(
    path.join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.ts'] }),
  );
}

it('its program compiles against mailjoin/store, and does what it says', async () => {
  readersPackage();
  fs.writeFileSync(path.join(directory, 'example.ts'), block('ts'));
  const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(process.execPath, [tsc, '-p', directory], { cwd: directory });
  const { stdout } = await run(process.execPath, ['example.js'], { cwd: directory });
  const [isSame, lastActivityId] = stdout.split('\n');
  expect(isSame).toBe('true');
  expect(lastActivityId).toMatch(/^[0-9a-f]{32}$/);
  for (const operation of ['commit', 'edit', 'react', 'recall']) {
    expect(stdout).toMatch(new RegExp(`mailjoin_write_step_seconds_count\\{operation="${operation}"`));
  }
}, 60_000);

it('its commands commit and recall the message that they show', async () => {
  const script = WRITING.slice(WRITING.indexOf("    echo '{"), WRITING.indexOf('\n\n| command |'));
  const main = path.join(ROOT, 'dist', 'cli', 'main.js');
  const words = script.replaceAll('npx mailjoin', `"${process.execPath}" "${main}"`);
  const { stdout } = await run('sh', ['-ec', words], { cwd: directory });
  expect(stdout).toContain('recalled');
  const committed = JSON.parse(fs.readFileSync(path.join(directory, 'committed.json'), 'utf8'));
  expect(committed).toMatchObject({ line: 1, conversation_seq: '1', client_message_id: 'phone-1:43' });
});

it('its retention file is one', () => {
  const { tenants } = parseRetentionPolicies(JSON.parse(block('json')));
  const tenantId = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
  expect(tenants.get(idKeyAt(tenantId, 0))).toEqual({ defaultSeconds: 7_776_000, customSeconds: 3_600 });
});
