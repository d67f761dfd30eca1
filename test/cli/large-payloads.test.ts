/** B50: payloads as base64 up to the bound, and one byte above it, by the commands that take them. */
import { describe, expect, it } from 'vitest';
import { JsonFields } from '../../src/cli/json-fields.js';
import { PAYLOAD_BYTES_MAX } from '../../src/domain/limits.js';
import {
  messageJson,
  operandsOf,
  type ProgramUnderTest,
  programUnderTest,
  type Row,
} from './write-program.js';

const MIB = 1024 * 1024;

function commit(program: ProgramUnderTest, payloadBytes: number) {
  const payload_base64 = Buffer.alloc(payloadBytes, 7).toString('base64');
  return program.run(['commit', '--json'], messageJson({ payload_text: undefined, payload_base64 }));
}

describe('payload_base64', () => {
  it.each([3 * MIB + 1, 15 * MIB, PAYLOAD_BYTES_MAX])(
    'of %d bytes is committed whole',
    async (bytes) => {
      const program = programUnderTest();
      const { exitCode, rows } = await commit(program, bytes);
      expect([exitCode, rows[0]?.error]).toEqual([0, undefined]);
      const [tenant = '', conversation = '', , messageId = ''] = operandsOf(rows[0] as Row);
      const shown = await program.run(['lookup', messageId, '--tenant', tenant, '--json']);
      expect(JSON.parse(shown.out)).toMatchObject({ conversation_id: conversation });
      expect(Number(JSON.parse(shown.out).payload_bytes)).toBeGreaterThanOrEqual(bytes);
    },
    60_000,
  );

  it('B50: of one byte more is MESSAGE_TOO_LARGE, in a commit and in an edit', async () => {
    const program = programUnderTest();
    const tooLarge = [{ error: { code: 'MESSAGE_TOO_LARGE', retryable: false } }];
    expect((await commit(program, PAYLOAD_BYTES_MAX + 1)).rows).toMatchObject(tooLarge);
    const [row] = (await program.run(['commit', '--json'], messageJson())).rows;
    const payload_base64 = Buffer.alloc(PAYLOAD_BYTES_MAX + 1).toString('base64');
    expect((await program.run(['edit', '--json'], { ...row, payload_base64 })).rows).toMatchObject(tooLarge);
  }, 60_000);

  it.each<[string, string | undefined]>([
    ['', ''],
    ['AA==', '00'],
    ['AAA=', '0000'],
    ['AAAA', '000000'],
    ['A===', undefined],
    ['====', undefined],
    ['==', undefined],
    ['AAA', undefined],
    ['AA=A', undefined],
    ['AA==AAAA', undefined],
    ['AAA-', undefined],
    ['AAAA\n', undefined],
  ])('%j is %s', (text, hex) => {
    const fields = new JsonFields({ payload_base64: text }, ['payload_base64']);
    if (hex === undefined) expect(() => fields.base64('payload_base64')).toThrow('is no base64');
    else expect(Buffer.from(fields.base64('payload_base64') ?? [1]).toString('hex')).toBe(hex);
  });

  it('a text of the size of an input that is no base64 is told as such', () => {
    const fields = new JsonFields({ a: `${'A'.repeat(48 * MIB - 1)}!`, b: 'A'.repeat(48 * MIB) }, ['a', 'b']);
    expect(() => fields.base64('a')).toThrow('is no base64');
    expect(fields.base64('b')).toHaveLength(36 * MIB);
  });
});
