/**
 * Identifiers as the contract has them (R1): fixed-length byte strings, never numbers.
 *
 * Inside the process an id stays the 16 bytes that came over the wire or out of the store; text forms exist
 * only at the edges (JSON, logs, the command line). Nothing here fails silently: a parser returns undefined
 * for input that is not an id, and the caller turns that into its own coded error.
 */

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** 16 bytes, the uuid in network order (R1: tenant_id uuid). */
export type TenantId = Branded<Uint8Array, 'TenantId'>;
/** 16 bytes, the uuid in network order (R1: conversation_id uuid). */
export type ConversationId = Branded<Uint8Array, 'ConversationId'>;
/** 16 bytes, the uuid in network order (R1: user_id uuid). */
export type UserId = Branded<Uint8Array, 'UserId'>;
/** 16 bytes, big-endian, so that byte order is numeric order (R1: message_id u128). */
export type MessageId = Branded<Uint8Array, 'MessageId'>;
/** 16 bytes, big-endian: the revision of a body (R1: last_activity_id u128; D14). */
export type ActivityId = Branded<Uint8Array, 'ActivityId'>;

export const ID_BYTES = 16;

/** A tenant id from exactly 16 bytes, else undefined. The bytes are not copied. */
export function tenantIdOf(bytes: Uint8Array): TenantId | undefined {
  return bytes.length === ID_BYTES ? (bytes as TenantId) : undefined;
}

/** A conversation id from exactly 16 bytes, else undefined. The bytes are not copied. */
export function conversationIdOf(bytes: Uint8Array): ConversationId | undefined {
  return bytes.length === ID_BYTES ? (bytes as ConversationId) : undefined;
}

/** A user id from exactly 16 bytes, else undefined. The bytes are not copied. */
export function userIdOf(bytes: Uint8Array): UserId | undefined {
  return bytes.length === ID_BYTES ? (bytes as UserId) : undefined;
}

/** A message id from exactly 16 bytes, else undefined. The bytes are not copied. */
export function messageIdOf(bytes: Uint8Array): MessageId | undefined {
  return bytes.length === ID_BYTES ? (bytes as MessageId) : undefined;
}

/** An activity id from exactly 16 bytes, else undefined. The bytes are not copied. */
export function activityIdOf(bytes: Uint8Array): ActivityId | undefined {
  return bytes.length === ID_BYTES ? (bytes as ActivityId) : undefined;
}

const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ID_HEX = /^[0-9a-f]{32}$/i;

/** The 16 bytes of a uuid's text form, network order (no byte swapping), else undefined. */
export function parseUuid(text: string): Uint8Array | undefined {
  return UUID_TEXT.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined;
}

/** The text form of 16 uuid bytes. */
export function formatUuid(bytes: Uint8Array): string {
  const hex = formatHex(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The 16 bytes of an id written as 32 hexadecimal digits, else undefined. Leading zeros are kept. */
export function parseIdHex(text: string): Uint8Array | undefined {
  return ID_HEX.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/** Bytes as lower-case hexadecimal digits. */
export function formatHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/** Compares the 16 bytes at two places as big-endian numbers: negative, 0 or positive. */
export function compareIdAt(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): number {
  for (let i = 0; i < ID_BYTES; i++) {
    const difference = (a[aAt + i] as number) - (b[bAt + i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** True when the 16 bytes at two places are equal. */
export function equalIdAt(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): boolean {
  return compareIdAt(a, aAt, b, bAt) === 0;
}

/** The 16 bytes at a place as a string of 16 latin-1 characters: a Map key, never shown. */
export function idKeyAt(bytes: Uint8Array, at: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, ID_BYTES).toString('latin1');
}
