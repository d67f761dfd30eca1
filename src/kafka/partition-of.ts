/**
 * Key → partition: murmur2 (seed 0x9747b28c) with its sign bit cleared, modulo the number of partitions. It is what
 * Kafka's own clients do, so that whoever writes the topic keeps a conversation in one partition. Pure; never changed,
 * nor may a topic's number of partitions be: a key's order holds within one partition.
 */
const SEED = 0x9747b28c;
const M = 0x5bd1e995;

export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fff_ffff) % partitions;
}

function murmur2(key: Uint8Array): number {
  let hash = SEED ^ key.length;
  let at = 0;
  for (; at + 4 <= key.length; at += 4) {
    let word =
      byte(key, at) | (byte(key, at + 1) << 8) | (byte(key, at + 2) << 16) | (byte(key, at + 3) << 24);
    word = Math.imul(word, M);
    word ^= word >>> 24;
    word = Math.imul(word, M);
    hash = Math.imul(hash, M) ^ word;
  }
  const rest = key.length - at;
  if (rest >= 3) hash ^= byte(key, at + 2) << 16;
  if (rest >= 2) hash ^= byte(key, at + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ byte(key, at), M);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, M);
  return hash ^ (hash >>> 15);
}

function byte(key: Uint8Array, at: number): number {
  return key[at] ?? 0;
}
