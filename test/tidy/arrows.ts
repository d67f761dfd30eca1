/** The import arrows (design: "Direction"): which folder of src may import which, and who breaks that. */
import { posix } from 'node:path';
import { type SourceFile, scanSource } from './source-scan.js';

/** Folder → folders it may import, beside itself. What is not listed is forbidden; nothing imports cli. */
export const ARROWS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  codec: ['domain'],
  join: ['domain', 'codec'],
  follow: ['domain', 'codec', 'join'],
  write: ['domain', 'codec'],
  history: ['domain', 'codec', 'join'],
  archive: ['domain', 'codec', 'write'],
  calibrate: ['domain', 'join'],
  tls: ['domain'],
  cache: ['domain'],
  crypto: ['domain'],
  workers: ['domain', 'cache', 'crypto'],
  cql: ['domain', 'tls'],
  embedded: ['domain'],
  kafka: ['domain', 'tls'],
  provision: ['domain'],
  server: ['domain', 'codec', 'join', 'history', 'write'],
  client: ['domain', 'codec'],
  cli: [
    'domain',
    'codec',
    'join',
    'follow',
    'write',
    'history',
    'archive',
    'calibrate',
    'cache',
    'crypto',
    'workers',
    'cql',
    'embedded',
    'kafka',
    'tls',
    'provision',
    'server',
    'client',
  ],
};

/** What package.json's "imports" point at, as sources. */
export type ImportsMap = Readonly<Record<string, string>>;

/** One line for each import under src that the table does not allow. */
export function arrowViolations(files: readonly SourceFile[], importsMap: ImportsMap): readonly string[] {
  return files
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap((file) => violationsOf(file, importsMap));
}

function violationsOf(file: SourceFile, importsMap: ImportsMap): string[] {
  const from = folderOf(file.path);
  const allowed = from === undefined ? undefined : ARROWS[from];
  if (from === undefined || allowed === undefined) return [`${file.path} lies in no folder that has arrows`];
  const { imports, computedImports } = scanSource(file);
  const found = computedImports > 0 ? [`${file.path} imports a computed path`] : [];
  for (const specifier of imports) {
    const target = targetOf(file.path, specifier, importsMap);
    if (target === undefined) continue;
    // The contract's .proto files and the package's own description are data that everybody may read.
    if (target.startsWith('proto/') || target === 'package.json') continue;
    const to = folderOf(target);
    if (to === undefined) found.push(`${file.path} imports ${target}, which lies in no folder of src`);
    else if (to !== from && !allowed.includes(to))
      found.push(`${file.path} (${from}) imports ${target} (${to})`);
  }
  return found;
}

/** Path from the root that a specifier of ours leads to; undefined for packages and Node's own modules. */
function targetOf(importer: string, specifier: string, importsMap: ImportsMap): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(importer), specifier);
  if (specifier.startsWith('#')) {
    const built = importsMap[specifier];
    return built === undefined ? specifier : posix.normalize(built).replace(/^dist\//, 'src/');
  }
  return specifier === 'mailjoin' || specifier.startsWith('mailjoin/') ? specifier : undefined;
}

function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\/./.exec(path)?.[1];
}
