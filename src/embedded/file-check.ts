/**
 * Looks at a store's file before LMDB maps it: a damaged one would end the process with SIGSEGV or SIGBUS and no
 * word (tried), since LMDB trusts its pages and a mapped page beyond the file's end cannot be read. Reads alone; the
 * file is left as it is. Failure: STORE_CORRUPT, saying what to do; raw errors of the file system.
 *
 * Checked always, at the cost of a few pages: both meta pages, and the root pages of the newest one. A file shorter
 * than its last page number says is damaged only when a missing page is in use: LMDB never writes pages that one
 * transaction both took and gave up (tried). So then, and only then, every page in use is looked for.
 *
 *     page          number 8 | transaction 8 | – 2 | flags 2 | 2 × nodes 2 | – 2 | offset of each node 2 …
 *     meta page     page header 24 | magic 4 | version 4 | – 16 | free tree 48 | main tree 48 | last page 8 | transaction 8
 *     tree          page size 4 (free tree) | – 36 | root page 8
 *     branch node   child page 6 | key size 2 | key
 *     leaf node     value size 4 | flags 2 | key size 2 | key | value, or first page 8 | – 8 | pages 8, or a tree 48
 *
 * All numbers are little-endian, as on every machine that has a prebuilt lmdb (mdb.c of lmdb 3.5.6).
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { MailjoinError } from '../domain/errors.js';

const PAGE_HEADER_BYTES = 24;
const FLAGS_AT = 18;
const NODE_OFFSETS_BYTES_AT = 20;
const BRANCH_PAGE = 0x01;
const LEAF_PAGE = 0x02;
const META_PAGE = 0x08;

const MAGIC_AT = 24;
const MAGIC = 0xbeefc0de;
const VERSION_AT = 28;
const VERSION = 2;
const PAGE_BYTES_AT = 48;
const FREE_ROOT_AT = 88;
const MAIN_ROOT_AT = 136;
const LAST_PAGE_AT = 144;
const TRANSACTION_AT = 152;
const META_BYTES = 160;
const PAGE_BYTES_MIN = 256;
const PAGE_BYTES_MAX = 0x1_0000;

const NODE_HEADER_BYTES = 8;
const VALUE_ON_PAGES = 0x01;
const VALUE_IS_TREE = 0x02;
const ROOT_IN_TREE_AT = 40;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;
/** mdb.c: CURSOR_STACK. */
const DEPTH_MAX = 32;

/** Another process may commit between two looks, and reuse a page after two commits: what is damaged stays so. */
const ATTEMPTS_MAX = 4;

interface Meta {
  readonly transaction: bigint;
  readonly lastPage: bigint;
  /** Of the tree of free pages and of the tree of tables. */
  readonly roots: readonly bigint[];
}

/** Returns when there is no file, an empty one, or one that LMDB can be trusted with. */
export function checkFile(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    for (let attempt = 1; ; attempt++) {
      const damage = damageOf(file);
      if (damage === undefined) return;
      if (attempt === ATTEMPTS_MAX) throw corrupt(path, damage);
    }
  } finally {
    closeSync(file);
  }
}

function corrupt(path: string, damage: string): MailjoinError {
  return new MailjoinError(
    'STORE_CORRUPT',
    `${basename(path)}: ${damage}. Nothing was changed in it. Stop what uses it, keep a copy of it, and put the file ` +
      'of a back-up in its place, or start with an empty data directory',
  );
}

/** What is wrong, in words; undefined when nothing is. */
function damageOf(file: number): string | undefined {
  const sizeBytes = fstatSync(file).size;
  if (sizeBytes === 0) return undefined;
  const head = read(file, 0, META_BYTES);
  if (head === undefined || head.readUInt32LE(MAGIC_AT) !== MAGIC) return 'is no database';
  const version = head.readUInt32LE(VERSION_AT) & 0xffff;
  if (version !== VERSION) return `has version ${version} of LMDB's format, not ${VERSION}`;
  const pageBytes = head.readUInt32LE(PAGE_BYTES_AT);
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX || (pageBytes & (pageBytes - 1)) !== 0) {
    return 'its first meta page is damaged';
  }
  const first = metaOf(head, 0n, pageBytes);
  const second = metaOf(read(file, pageBytes, META_BYTES), 1n, pageBytes);
  if (first === undefined) return 'its first meta page is damaged';
  if (second === undefined) return 'its second meta page is damaged';
  const newest = first.transaction > second.transaction ? first : second;
  const pages = new PageReader(file, pageBytes);
  for (const root of newest.roots) {
    if (root !== NO_ROOT && pages.node(root) === undefined) return 'a root page is missing or damaged';
  }
  // The size again: what another process wrote before its meta page was read is counted.
  const pageCount = BigInt(Math.floor(fstatSync(file).size / pageBytes));
  if (newest.lastPage < pageCount) return undefined;
  for (const root of newest.roots) {
    if (!pages.reachesAll(root, pageCount, 0)) return 'it was cut off: pages in use are missing at its end';
  }
  return undefined;
}

function metaOf(bytes: Buffer | undefined, page: bigint, pageBytes: number): Meta | undefined {
  if (bytes === undefined) return undefined;
  const lastPage = bytes.readBigUInt64LE(LAST_PAGE_AT);
  const roots = [bytes.readBigUInt64LE(FREE_ROOT_AT), bytes.readBigUInt64LE(MAIN_ROOT_AT)];
  const sound =
    bytes.readBigUInt64LE(0) === page &&
    (bytes.readUInt16LE(FLAGS_AT) & META_PAGE) !== 0 &&
    bytes.readUInt32LE(MAGIC_AT) === MAGIC &&
    (bytes.readUInt32LE(VERSION_AT) & 0xffff) === VERSION &&
    bytes.readUInt32LE(PAGE_BYTES_AT) === pageBytes &&
    lastPage >= 1n &&
    roots.every((root) => root === NO_ROOT || (root > 1n && root <= lastPage));
  return sound ? { transaction: bytes.readBigUInt64LE(TRANSACTION_AT), lastPage, roots } : undefined;
}

class PageReader {
  readonly #file: number;
  readonly #pageBytes: number;

  constructor(file: number, pageBytes: number) {
    this.#file = file;
    this.#pageBytes = pageBytes;
  }

  /** A page of a tree; undefined when it is missing or none. */
  node(page: bigint): Buffer | undefined {
    const bytes = read(this.#file, Number(page) * this.#pageBytes, this.#pageBytes);
    if (bytes === undefined || bytes.readBigUInt64LE(0) !== page) return undefined;
    const kind = bytes.readUInt16LE(FLAGS_AT) & (BRANCH_PAGE | LEAF_PAGE);
    const nodesEnd = PAGE_HEADER_BYTES + bytes.readUInt16LE(NODE_OFFSETS_BYTES_AT);
    return (kind === BRANCH_PAGE || kind === LEAF_PAGE) && nodesEnd <= this.#pageBytes ? bytes : undefined;
  }

  /** Whether every page below a tree's root, and of its values, lies in a file of so many pages. */
  reachesAll(root: bigint, pageCount: bigint, depth: number): boolean {
    if (root === NO_ROOT) return true;
    const page = depth < DEPTH_MAX && root < pageCount ? this.node(root) : undefined;
    if (page === undefined) return false;
    const isBranch = (page.readUInt16LE(FLAGS_AT) & BRANCH_PAGE) !== 0;
    const nodesEnd = PAGE_HEADER_BYTES + page.readUInt16LE(NODE_OFFSETS_BYTES_AT);
    for (let at = PAGE_HEADER_BYTES; at < nodesEnd; at += 2) {
      const node = page.subarray(PAGE_HEADER_BYTES + page.readUInt16LE(at));
      if (node.length < NODE_HEADER_BYTES) return false;
      if (isBranch) {
        if (!this.reachesAll(BigInt(node.readUIntLE(0, 6)), pageCount, depth + 1)) return false;
        continue;
      }
      const flags = node.readUInt16LE(4);
      if ((flags & (VALUE_ON_PAGES | VALUE_IS_TREE)) === 0) continue;
      const value = node.subarray(NODE_HEADER_BYTES + node.readUInt16LE(6));
      if (value.length < ROOT_IN_TREE_AT + 8 && (flags & VALUE_IS_TREE) !== 0) return false;
      if (value.length < PAGE_HEADER_BYTES) return false;
      const reached =
        (flags & VALUE_IS_TREE) !== 0
          ? this.reachesAll(value.readBigUInt64LE(ROOT_IN_TREE_AT), pageCount, depth + 1)
          : value.readBigUInt64LE(0) + value.readBigUInt64LE(16) <= pageCount;
      if (!reached) return false;
    }
    return true;
  }
}

/** `bytes` bytes from `at`, or undefined where the file does not have them. */
function read(file: number, at: number, bytes: number): Buffer | undefined {
  if (at > Number.MAX_SAFE_INTEGER) return undefined;
  const buffer = Buffer.alloc(bytes);
  return readSync(file, buffer, 0, bytes, at) === bytes ? buffer : undefined;
}
