// Whether a server speaks TLS, as it is asked when nothing else is known.
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../../src/provision/free-ports.js';
import { tlsAnswer } from '../../src/tls/tls-answer.js';
import { issue, makeAuthority } from '../services/certificates.js';
import { listen, tlsServer } from './tls-servers.js';

const authority = makeAuthority('nobody knows it');
const { cert, key } = issue(authority, 'server', ['127.0.0.1']);
const TIMEOUT_MS = 5_000;

describe('a server that is asked for TLS', () => {
  it('speaks it, whoever signed its certificate', async () => {
    expect(await tlsAnswer('127.0.0.1', await tlsServer({ cert, key }), TIMEOUT_MS)).toBe('tls');
  });

  it('speaks it when it refuses a handshake without client certificate', async () => {
    const demanding = { cert, key, ca: authority.cert, requestCert: true, maxVersion: 'TLSv1.2' } as const;
    expect(await tlsAnswer('127.0.0.1', await tlsServer(demanding), TIMEOUT_MS)).toBe('tls');
  });

  it('speaks something else when it says so, or closes the connection', async () => {
    const talking = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const closing = net.createServer((socket) => socket.destroy());
    expect(await tlsAnswer('127.0.0.1', await listen(talking), TIMEOUT_MS)).toBe('other');
    expect(await tlsAnswer('127.0.0.1', await listen(closing), TIMEOUT_MS)).toBe('other');
  });

  it('says nothing when it is not there, or silent until the time is over', async () => {
    const [port = 0] = await freePorts(1, ['127.0.0.1']);
    expect(await tlsAnswer('127.0.0.1', port, TIMEOUT_MS)).toBe('none');
    expect(await tlsAnswer('127.0.0.1', await listen(net.createServer(() => {})), 100)).toBe('none');
  });
});
