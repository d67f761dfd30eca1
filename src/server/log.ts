/**
 * How the server says what happened: an event's name and a few fields, never a payload, a key or an id of a message.
 * Who makes the server decides where it goes (src/cli/log.ts).
 */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  write(level: LogLevel, event: string, fields?: LogFields): void;
}

/** Says nothing. */
export const SILENT_LOG: Log = { write: () => undefined };
