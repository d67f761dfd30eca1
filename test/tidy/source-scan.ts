/** Reads the repository's own files for the tidy tests: which there are, and what a source file says. Pure but for git. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every file that git tracks, or would track at the next `git add`, and that still exists. */
export function repositoryFiles(): readonly SourceFile[] {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return list
    .split('\0')
    .filter((path) => path !== '')
    .flatMap((path) => {
      try {
        return [{ path, text: readFileSync(join(ROOT, path), 'utf8') }];
      } catch (error) {
        // Removed, but not yet from git's index.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
        throw error;
      }
    });
}

/** The files that are programs: TypeScript, and JavaScript modules of scripts and benches. */
export function codeFiles(files: readonly SourceFile[]): readonly SourceFile[] {
  return files.filter(({ path }) => ['.ts', '.mts', '.js', '.mjs', '.cjs'].includes(extname(path)));
}

export interface SourceFacts {
  /** Specifiers of static, dynamic and type imports, re-exports, import.meta.resolve(), and new URL(…, import.meta.url). */
  readonly imports: readonly string[];
  /** Imports whose specifier is computed, which no scan can follow. */
  readonly computedImports: number;
  /** How often the type `any` is written. */
  readonly anys: number;
}

/** One node of the parser's tree; what a node has beside its type depends on the type. */
interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

export function scanSource(file: SourceFile): SourceFacts {
  const imports: string[] = [];
  let computedImports = 0;
  let anys = 0;
  const specifier = (node: unknown) => {
    if (!isNode(node)) return;
    if (node.type === 'Literal' && typeof node.value === 'string') imports.push(node.value);
    else computedImports++;
  };
  const visit = (node: Node) => {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'ExportAllDeclaration':
      case 'ImportExpression':
      case 'TSImportType':
        specifier(node.source);
        break;
      case 'TSAnyKeyword':
        anys++;
        break;
      case 'NewExpression':
        if (isName(node.callee, 'URL') && isMetaUrl(argument(node, 1))) specifier(argument(node, 0));
        break;
      case 'CallExpression':
        if (isMetaMember(node.callee, 'resolve') || isName(node.callee, 'require'))
          specifier(argument(node, 0));
        break;
    }
    for (const value of Object.values(node)) {
      if (isNode(value)) visit(value);
      else if (Array.isArray(value)) value.filter(isNode).forEach(visit);
    }
  };
  const lang = file.path.endsWith('ts') ? 'ts' : 'js';
  // The parser's own type of the tree names every node; here only `type` and a few fields are looked at.
  visit(parseAst(file.text, { lang }) as unknown as Node);
  return { imports, computedImports, anys };
}

function argument(call: Node, index: number): unknown {
  return Array.isArray(call.arguments) ? call.arguments[index] : undefined;
}

function isName(node: unknown, name: string): boolean {
  return isNode(node) && node.type === 'Identifier' && node.name === name;
}

function isMetaMember(node: unknown, name: string): boolean {
  return (
    isNode(node) &&
    node.type === 'MemberExpression' &&
    isNode(node.object) &&
    node.object.type === 'MetaProperty' &&
    isName(node.property, name)
  );
}

function isMetaUrl(node: unknown): boolean {
  return isMetaMember(node, 'url');
}
