/**
 * Asks a server whether it speaks TLS, when talking to it otherwise has failed: nothing is sent but the first message of
 * a handshake, and nothing that comes is trusted or used.
 */
import { connect } from 'node:tls';
import { isTlsAlert } from './tls-failure.js';

/** `none`: no connection, or nothing said in time. */
export type TlsAnswer = 'tls' | 'other' | 'none';

export function tlsAnswer(host: string, port: number, timeoutMs: number): Promise<TlsAnswer> {
  return new Promise((resolve) => {
    // Not verified: the connection is closed before anything is said on it.
    const socket = connect({ host, port, rejectUnauthorized: false });
    let isOpen = false;
    const timer = setTimeout(() => settle('none'), timeoutMs);
    const settle = (answer: TlsAnswer): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => {
      isOpen = true;
    });
    socket.once('secureConnect', () => settle('tls'));
    socket.on('error', (error) => {
      const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
      settle(isTlsAlert(code) ? 'tls' : isOpen ? 'other' : 'none');
    });
    socket.once('close', () => settle(isOpen ? 'other' : 'none'));
  });
}
