import { expect, it } from 'vitest';
import { LargeRows } from '../../src/cql/large-rows.js';
import { PAGE_BYTES_MAX, READ_PAGE_ROWS, REPEATED_PAGE_ROWS } from '../../src/domain/limits.js';
import { conversation, groupRead, somewhere } from '../stores/fixtures.js';

const MIB = 1024 * 1024;
const read = groupRead(somewhere(1n), []);

it('knows nothing of a conversation at first: usual pages, and small ones where a read failed', () => {
  const rows = new LargeRows();
  expect(rows.pageRows(read)).toBeUndefined();
  expect(rows.pageRows({ ...read, isRepeated: true })).toBe(REPEATED_PAGE_ROWS);
});

it('gives large rows pages of a bounded size, per conversation, until they are small again', () => {
  const rows = new LargeRows();
  rows.learn(read, { rows: 64, bytes: 64 * MIB });
  expect(rows.pageRows(read)).toBe(PAGE_BYTES_MAX / MIB);
  expect(rows.pageRows({ ...read, conversationId: conversation() })).toBeUndefined();
  rows.learn(read, { rows: 1, bytes: 10 * PAGE_BYTES_MAX });
  expect(rows.pageRows(read)).toBe(1);
  rows.learn(read, { rows: 100, bytes: 100 * (PAGE_BYTES_MAX / READ_PAGE_ROWS) });
  expect(rows.pageRows(read)).toBeUndefined();
});

it('learns nothing from a few rows, as live delivery reads them', () => {
  const rows = new LargeRows();
  rows.learn(read, { rows: 1, bytes: MIB });
  expect(rows.pageRows(read)).toBeUndefined();
  rows.learn(read, { rows: 64, bytes: 64 * MIB });
  rows.learn(read, { rows: 1, bytes: 100 });
  rows.learn(read, { rows: 0, bytes: 0 });
  expect(rows.pageRows(read)).toBe(PAGE_BYTES_MAX / MIB);
});
