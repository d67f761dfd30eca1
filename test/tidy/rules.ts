/** The rules for files (style.md's habits that a machine can hold): each takes one file and names what is wrong. */
import { basename } from 'node:path';
import { type SourceFile, scanSource } from './source-scan.js';

const LINES_MAX = 400;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|d|config))?\.(ts|mjs|js)$/;
// Written apart, so that this file does not break its own rule.
const LEFT_OVER = new RegExp(`\\b(${['TO', 'FIX'].join('DO|')}ME)\\b`);
const VAGUE = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc']);

/** Registries of packages and their mirrors: each machine has its own, so none belongs into a file. */
const REGISTRY_HOST =
  /\b[\w-]*(registry|repo1?|maven|npm|artifactory|nexus|mirror)[\w-]*(\.[\w-]+)*\.(org|com|net|io|dev|example)\b|"resolved":\s*"http/i;
/** Folders of one machine or one person. */
const MACHINE_PATH = /(?<![\w.$}<-])\/(?:work|root|home\/\w+|Users\/\w+)(?:\/|\b)/;

/** Rules for every text file of the repository. */
export function fileViolations(file: SourceFile): readonly string[] {
  const found: string[] = [];
  file.text.split('\n').forEach((line, index) => {
    const at = `${file.path}:${index + 1}`;
    if (LEFT_OVER.test(line)) found.push(`${at} leaves work undone: ${line.trim()}`);
    if (REGISTRY_HOST.test(line)) found.push(`${at} names a registry host`);
    if (MACHINE_PATH.test(line)) found.push(`${at} names a path of one machine: ${line.trim()}`);
  });
  return found;
}

/** Rules for programs, beside those for every file. */
export function codeViolations(file: SourceFile): readonly string[] {
  const found: string[] = [];
  const name = basename(file.path);
  if (!KEBAB_CASE.test(name)) found.push(`${file.path} is not named in kebab-case`);
  const words = file.path.split('/').flatMap((part) => part.split(/[.-]/));
  const vague = words.find((word) => VAGUE.has(word));
  if (vague !== undefined) found.push(`${file.path} is named "${vague}", which says nothing`);
  const lines = file.text.trimEnd().split('\n').length;
  if (lines > LINES_MAX) found.push(`${file.path} has ${lines} lines, more than ${LINES_MAX}`);
  // The names of the tests say what a test file is for.
  const tellsPurpose = file.path.endsWith('.test.ts') || /^(\/\/|\/\*|#!)/.test(file.text);
  if (!tellsPurpose) found.push(`${file.path} does not begin with its purpose`);
  const { anys } = scanSource(file);
  if (anys > 0) found.push(`${file.path} writes the type any ${anys} times`);
  return found;
}
