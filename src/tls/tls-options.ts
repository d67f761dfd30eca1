/**
 * What both adapters that cross a network need to speak TLS, as a caller says it, and what Node makes of that: TLS 1.2
 * or later, and never a connection whose other side was not verified.
 */
import type { ConnectionOptions } from 'node:tls';

export interface TlsOptions {
  /** Authorities in PEM; undefined: those that come with Node. */
  readonly ca: string | undefined;
  /** Our certificate and its key in PEM, for servers that ask for one. */
  readonly client: { readonly cert: string; readonly key: string } | undefined;
  /** The name that every server's certificate is held to, and asked for by SNI; undefined: the host connected to. */
  readonly serverName: string | undefined;
  /** false: a certificate of any name is taken, as long as an authority signed it. */
  readonly verifiesHost: boolean;
}

export function nodeTlsOptions({ ca, client, serverName, verifiesHost }: TlsOptions): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    // Said aloud: cassandra-driver's own default is false.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
    ...client,
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(verifiesHost ? {} : { checkServerIdentity: () => undefined }),
  };
}
