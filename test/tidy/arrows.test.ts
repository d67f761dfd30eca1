/** Holds the import arrows, and shows first that a wrong import would be found. */
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { ARROWS, arrowViolations } from './arrows.js';
import { codeFiles, repositoryFiles } from './source-scan.js';

function violations(path: string, text: string): readonly string[] {
  return arrowViolations([{ path, text }], { '#open-worker': './dist/workers/thread.js' });
}

describe('import arrows', () => {
  it.each([
    ['a value import', "import { x } from '../cql/rows.js';"],
    ['a type import', "import type { X } from '../cql/rows.js';"],
    ['an import over several lines', "import {\n  x,\n  y,\n} from '../cql/rows.js';"],
    ['a side-effect import', "import '../cql/rows.js';"],
    ['a re-export', "export { x } from '../cql/rows.js';"],
    ['a re-export of everything', "export * from '../cql/rows.js';"],
    ['a dynamic import', "const x = await import('../cql/rows.js');"],
    ['an import type', "type X = import('../cql/rows.js').X;"],
    ['a URL of a module', "const x = new URL('../cql/rows.js', import.meta.url);"],
    ['a resolved module', "const x = import.meta.resolve('../cql/rows.js');"],
  ])('find %s of a folder that is not allowed', (_, text) => {
    expect(violations('src/join/batch.ts', text)).toEqual([
      'src/join/batch.ts (join) imports src/cql/rows.js (cql)',
    ]);
  });

  it('find adapters that import each other', () => {
    expect(violations('src/embedded/store.ts', "import { x } from '../cql/rows.js';")).toHaveLength(1);
  });

  it('find an import of cli', () => {
    expect(violations('src/server/app.ts', "import { x } from '../cli/main.js';")).toHaveLength(1);
  });

  it('find a wrong import through package.json and through the package itself', () => {
    const built = "const path = import.meta.resolve('#open-worker');";
    expect(violations('src/join/batch.ts', built)).toEqual([
      'src/join/batch.ts (join) imports src/workers/thread.js (workers)',
    ]);
    expect(violations('src/join/batch.ts', "import 'mailjoin/client';")).toHaveLength(1);
  });

  it('find a way out of src, a computed import and a folder without arrows', () => {
    expect(violations('src/join/batch.ts', "import '../../test/x.js';")).toHaveLength(1);
    expect(violations('src/join/batch.ts', "await import('../' + name);")).toHaveLength(1);
    expect(violations('src/fresh/x.ts', '')).toHaveLength(1);
    expect(violations('src/main.ts', '')).toHaveLength(1);
  });

  it('leave comments, strings, packages and the own folder alone', () => {
    const text = `
      // import '../cql/rows.js';
      /* import '../cql/rows.js'; */
      import { readFile } from 'node:fs/promises';
      import { LRUCache } from 'lru-cache';
      import { x } from './flights.js';
      import { y } from '../domain/ids.js';
      const contract = new URL('../../proto/common.proto', import.meta.url);
      const text = "import '../cql/rows.js'";`;
    expect(violations('src/join/batch.ts', text)).toEqual([]);
  });

  it('hold in the table itself: adapters see the domain, workers also cache and crypto, nobody sees cli', () => {
    for (const [folder, allowed] of Object.entries(ARROWS)) {
      expect(allowed.filter((name) => ARROWS[name] === undefined)).toEqual([]);
      expect(allowed).not.toContain('cli');
      expect(allowed).not.toContain(folder);
    }
  });

  it('hold in every file of src', () => {
    const files = codeFiles(repositoryFiles());
    expect(files.filter(({ path }) => path.startsWith('src/')).length).toBeGreaterThan(10);
    expect(arrowViolations(files, packageJson.imports)).toEqual([]);
  });
});
