/** The file of records as bytes; record-file.ts draws it. */
export const HEADER = Buffer.from('mjlog 1\n', 'latin1');
export const LENGTH_BYTES = 4;

export function lengthOf({ length }: Uint8Array): Buffer {
  const bytes = Buffer.alloc(LENGTH_BYTES);
  bytes.writeUInt32BE(length);
  return bytes;
}
