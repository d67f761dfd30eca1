/**
 * Tells whether a key-encryption key is a store's own, before anything is sealed under it: what another KEK wraps opens for
 * nobody else, ever. The store keeps one check value, recorded by the first who makes keys in it and never changed; it
 * opens under one KEK alone. Where none is recorded yet, keys that are there are tried instead.
 *
 *     check value:  a wrapped key (key-wrap.ts) of 32 random bytes, under an id that no data key has: its version is 0
 *
 * Whoever only reads records nothing: it may not be allowed to write, and its KEK is the first one's to decide. Fails with
 * KEY_FILE, naming the file, or STORE_*.
 */
import { randomBytes } from 'node:crypto';
import { DEK_BYTES } from '../domain/envelope.js';
import { MailjoinError } from '../domain/errors.js';
import { READ_PAGE_ROWS } from '../domain/limits.js';
import type { DekId } from '../domain/message.js';
import type { KeyStore } from '../domain/ports.js';
import { unwrapDek, wrapDek } from './key-wrap.js';

const CHECK_ID: DekId = { scope: 'mailjoin', id: 'kek check value', version: 0 };
/** Versions of keys looked at where no check value is recorded: a page of the store's. */
const KEYS_LOOKED_AT_MAX = READ_PAGE_ROWS;

/** What the KEK is for: to wrap new keys (then its check value is recorded), or to open those that are there. */
export type KekUse = 'wrap' | 'open';

/** Returns when nothing speaks against the KEK, which the caller has from `file`. */
export async function requireKek(
  store: Pick<KeyStore, 'list' | 'kekCheckValue' | 'recordKekCheckValue'>,
  kek: Uint8Array,
  file: string,
  use: KekUse,
): Promise<void> {
  let recorded = await store.kekCheckValue();
  if (recorded === undefined) {
    if (!(await mayHaveWrapped(store, kek))) throw foreign(file);
    if (use === 'open') return;
    // Of two that are first, one is recorded, and both compare.
    recorded = await store.recordKekCheckValue(checkValueOf(kek));
  }
  if (!opens(kek, CHECK_ID, recorded)) throw foreign(file);
}

function checkValueOf(kek: Uint8Array): Uint8Array {
  return wrapDek(kek, CHECK_ID, randomBytes(DEK_BYTES));
}

/** False when there are keys and none of those looked at opens. One that does is enough: others may be damaged. */
async function mayHaveWrapped(store: Pick<KeyStore, 'list'>, kek: Uint8Array): Promise<boolean> {
  let lookedAt = 0;
  let hasKeys = false;
  for await (const { dekId, wrapped } of store.list()) {
    if (wrapped !== undefined && opens(kek, dekId, wrapped)) return true;
    hasKeys ||= wrapped !== undefined;
    lookedAt++;
    if (lookedAt === KEYS_LOOKED_AT_MAX) break;
  }
  return !hasKeys;
}

function opens(kek: Uint8Array, dekId: DekId, wrapped: Uint8Array): boolean {
  const key = unwrapDek(kek, dekId, wrapped);
  key?.fill(0);
  return key !== undefined;
}

function foreign(file: string): MailjoinError {
  return new MailjoinError(
    'KEY_FILE',
    `${file} is another key than the one that this store's keys are wrapped with`,
  );
}
