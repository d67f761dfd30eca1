import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findHeadEnd, parseResponseHead } from '../../src/client/response-head.js';

const OK = 'HTTP/1.1 200 OK\r\n';

function parse(text: string) {
  const bytes = Buffer.from(text, 'latin1');
  const end = findHeadEnd(bytes, 0, bytes.length);
  return parseResponseHead(bytes, end === -1 ? bytes.length : end);
}

describe('parseResponseHead', () => {
  const refused: [string, string][] = [
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['an interim response', 'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n'],
    ['a status above 599', 'HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n'],
    ['no length', `${OK}Content-Type: a/b\r\n\r\n`],
    ['two lengths', `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\n`],
    ['a negative length', `${OK}Content-Length: -1\r\n\r\n`],
    ['a signed length', `${OK}Content-Length: +1\r\n\r\n`],
    ['a hexadecimal length', `${OK}Content-Length: 0x10\r\n\r\n`],
    ['an empty length', `${OK}Content-Length:\r\n\r\n`],
    ['a list of lengths', `${OK}Content-Length: 5, 5\r\n\r\n`],
    ['a length of 16 digits', `${OK}Content-Length: 1000000000000000\r\n\r\n`],
    ['a chunked body', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n`],
    ['a folded header', `${OK}X-A: b\r\n c\r\nContent-Length: 5\r\n\r\n`],
    ['a bare line feed', `${OK}X-A: b\nContent-Length: 5\r\n\r\n`],
    ['a bare carriage return', `${OK}X-A: b\rContent-Length: 5\r\n\r\n`],
    ['a space before the colon', `${OK}Content-Length : 5\r\n\r\n`],
    ['a header without a name', `${OK}: 5\r\n\r\n`],
    ['a line without a colon', `${OK}Content-Length\r\n\r\n`],
    ['a control character', `${OK}X-A: \u0000\r\nContent-Length: 5\r\n\r\n`],
  ];
  it.each(refused)('refuses %s', (_, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'CLIENT_PROTOCOL' }));
  });

  it('reads what the sidecar sends', () => {
    const text = `HTTP/1.1 503 Service Unavailable\r\nContent-Type: Application/X-Protobuf; v=1\r\nConnection: close\r\nDate: Tue\r\nuWebSockets: 20\r\nContent-Length: 00042\r\n\r\n`;
    expect(parse(text)).toEqual({
      status: 503,
      contentType: 'application/x-protobuf',
      close: true,
      contentLength: 42,
    });
  });

  it('takes an empty reason phrase, and headers in any case', () => {
    expect(parse('HTTP/1.1 200\r\nCONTENT-LENGTH:7\r\n\r\n')).toMatchObject({
      status: 200,
      contentLength: 7,
    });
    expect(parse('HTTP/1.1 200 \r\ncontent-length: 7 \r\n\r\n')).toMatchObject({
      status: 200,
      contentLength: 7,
    });
  });

  it('either parses or refuses, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (noise, prefixed) => {
        const text = (prefixed ? OK : '') + Buffer.from(noise).toString('latin1');
        try {
          expect(parse(text).contentLength).toBeGreaterThanOrEqual(0);
        } catch (error) {
          expect(error).toMatchObject({ code: 'CLIENT_PROTOCOL' });
        }
      }),
      { verbose: 1 },
    );
  });
});

describe('findHeadEnd', () => {
  it('finds an end that was cut anywhere', () => {
    const bytes = Buffer.from('HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody');
    const end = bytes.indexOf('\r\n\r\n') + 4;
    for (let cut = 0; cut < end; cut++) {
      expect(findHeadEnd(bytes, 0, cut)).toBe(-1);
      expect(findHeadEnd(bytes, cut, bytes.length)).toBe(end);
    }
  });
});
