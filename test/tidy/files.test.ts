/** Holds the rules for files, and shows first that each would find its breach. */
import { describe, expect, it } from 'vitest';
import { codeViolations, fileViolations } from './rules.js';
import { codeFiles, repositoryFiles } from './source-scan.js';

const PURPOSE = '/** A purpose. */\n';

describe('rules for files', () => {
  it.each([
    ['a left-over note', `// TO${'DO'}: later`],
    ['another left-over note', `// FIX${'ME'}`],
    ['a registry host', `https://registry.packages${'.org'}/piscina`],
    ['a mirror', `npm-mirror${'.example'}:4873`],
    ['a lock file with hosts', `      "resolved"${': '}"https://example.org/piscina.tgz"`],
    ['a path of one machine', `const path = '/${'work'}/main/src';`],
    ['a home folder', `/${'home'}/someone/data`],
  ])('find %s', (_, text) => {
    expect(fileViolations({ path: 'notes.md', text })).toHaveLength(1);
  });

  it('let ordinary paths be', () => {
    const text = "['/tmp/mailjoin.sock', '/v1/join', '../work/thread.js', 'dist/root', '/run/mailjoin']";
    expect(fileViolations({ path: 'notes.md', text })).toEqual([]);
  });

  it.each([
    ['a name that is not kebab-case', 'src/join/readPlan.ts', PURPOSE],
    ['a vague folder', 'src/utils/plan.ts', PURPOSE],
    ['a vague name', 'src/join/plan-helpers.ts', PURPOSE],
    ['a file without a purpose', 'src/join/plan.ts', 'export const x = 1;\n'],
    ['a file that is too long', 'src/join/plan.ts', `${PURPOSE}${'\n'.repeat(400)}export const x = 1;\n`],
    ['any', 'src/join/plan.ts', `${PURPOSE}export function f(x: Map<string, any>) { return x; }\n`],
    ['a cast to any', 'src/join/plan.ts', `${PURPOSE}export const x = (1 as any);\n`],
  ])('find %s', (_, path, text) => {
    expect(codeViolations({ path, text })).toHaveLength(1);
  });

  it('let the word any stand in comments, strings and names', () => {
    const text = `${PURPOSE}// any\nexport const any = 'as any';\n`;
    expect(codeViolations({ path: 'src/join/plan.ts', text })).toEqual([]);
  });

  it('hold in every file of the repository', () => {
    const files = repositoryFiles();
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(fileViolations)).toEqual([]);
  });

  it('hold in every program of the repository', () => {
    const found = codeFiles(repositoryFiles()).flatMap(codeViolations);
    expect(found).toEqual([]);
  });
});
