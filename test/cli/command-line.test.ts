import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.js';
import { nearest } from '../../src/cli/suggestion.js';

const NAMES = ['socket', 'allowUnsealed', 'password', 'cacheBytes'] as const;
const OPTIONS = [
  { flag: 'yes', meaning: '' },
  { flag: 'out', placeholder: 'file', meaning: '' },
];
const parse = (...words: string[]) => parseCommandLine(words, NAMES, OPTIONS);
const reasons = (...words: string[]) =>
  parse(...words).problems.map(({ source, reason }) => `${source} ${reason}`);

describe('flags that are refused', () => {
  it('unknown ones, with the nearest known', () => {
    expect(reasons('--sockt', 'x')).toEqual(['--sockt no such flag (did you mean --socket?)']);
    expect(reasons('--xyzzy')).toEqual(['--xyzzy no such flag']);
    expect(reasons('-q')).toEqual(['-q no such flag']);
  });

  it('a secret', () => {
    expect(reasons('--password=x')[0]).toContain('is a secret');
  });

  it('a setting of another command', () => {
    expect(reasons('--keyspace', 'x')).toEqual(['--keyspace is not used by this command']);
  });

  it('a missing value, also when another flag follows', () => {
    expect(reasons('--socket')).toEqual(['--socket needs a value']);
    expect(reasons('--socket', '--yes')).toEqual(['--socket needs a value']);
    expect(reasons('--socket', '--yes=true')).toEqual(['--socket needs a value']);
  });

  it('a value that begins with "-", which may be meant: how it is written, and not what it is', () => {
    const [reason] = reasons('--socket', '-secret');
    expect(reason).toBe('--socket needs a value; one that begins with "-" is written --socket=VALUE');
    expect(reasons('--socket', '--secret')).toEqual([reason]);
    expect([...parse('--socket=-1').flags.values()]).toEqual(['-1']);
  });

  it('a switch with a value that is none of it', () => {
    expect(reasons('--yes=nonsense')).toEqual(['--yes is a switch: true or false, or no value']);
    expect(parse('--yes=false').options.has('yes')).toBe(false);
    expect(parse('--yes=true').options.get('yes')).toBe('true');
  });

  it('the same flag twice', () => {
    expect(reasons('--socket', 'a', '--socket=b')).toEqual(['--socket is given twice']);
  });
});

describe('flags that are taken', () => {
  it('settings, options, switches and operands, in any order', () => {
    const line = parse(
      'one',
      '--socket',
      'a',
      '--yes',
      'two',
      '--out=-x',
      '--allow-unsealed',
      '--',
      '--three',
    );
    expect(line.problems).toEqual([]);
    expect(line.operands).toEqual(['one', 'two', '--three']);
    expect([...line.flags]).toEqual([
      ['socket', 'a'],
      ['allowUnsealed', 'true'],
    ]);
    expect([...line.options]).toEqual([
      ['yes', 'true'],
      ['out', '-x'],
    ]);
  });

  it('a switch can be turned off', () => {
    expect(parse('--allow-unsealed=false').flags.get('allowUnsealed')).toBe('false');
  });
});

describe('the nearest name', () => {
  it('is one within a third of its length', () => {
    expect(nearest('scoket', ['socket', 'store'])).toBe('socket');
    expect(nearest('cacheByte', ['cacheBytes', 'cacheAgeMs'])).toBe('cacheBytes');
    expect(nearest('nothing', ['socket', 'store'])).toBeUndefined();
    expect(nearest('x', [])).toBeUndefined();
  });
});
