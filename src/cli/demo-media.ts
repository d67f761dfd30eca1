/** The demo's blobs of common.proto: media_metadata with thumbnails up to the limit, and mention_targets (R5.3). */
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import type { UserId } from '../domain/ids.js';
import { THUMBNAIL_BYTES_MAX } from '../domain/limits.js';
import type { DemoRandom } from './demo-random.js';

let types: protobuf.Root | undefined;

function encode(name: 'MediaMetadata' | 'MentionTargets', fields: Record<string, unknown>): Uint8Array {
  types ??= protobuf.loadSync(fileURLToPath(new URL('../../proto/common.proto', import.meta.url)));
  const type = types.lookupType(`mailjoin.common.v1.${name}`);
  return type.encode(type.create(fields)).finish();
}

export function demoMedia(random: DemoRandom, isVideo: boolean): Uint8Array {
  const thumbnailBytes = random.chance(0.05) ? THUMBNAIL_BYTES_MAX : random.between(800, 14_000);
  return encode('MediaMetadata', {
    objectId: `media/${random.bytes(12).toString('hex')}`,
    mime: isVideo ? 'video/mp4' : random.pick(['image/jpeg', 'image/webp', 'image/png']),
    bytes: random.between(20_000, isVideo ? 900_000_000 : 9_000_000),
    width: random.between(200, 4000),
    height: random.between(200, 4000),
    durationMs: isVideo ? random.between(1000, 600_000) : 0,
    thumbnail: random.bytes(thumbnailBytes),
    blurhash: 'LEHV6nWB2yk8pyo0adR*.7kCMdnj',
    checksum: random.bytes(32),
  });
}

/** Undefined for the nine of ten messages that mention nobody. */
export function demoMentions(random: DemoRandom, members: readonly UserId[]): Uint8Array | undefined {
  if (!random.chance(0.1)) return undefined;
  if (random.chance(0.1)) return encode('MentionTargets', { userIds: [], atAll: true });
  const userIds = Array.from({ length: random.between(1, 4) }, () => random.pick(members));
  return encode('MentionTargets', { userIds, atAll: false });
}
