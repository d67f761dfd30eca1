/**
 * media_metadata and mention_targets (R5.3) from their JSON form into the bytes of proto/common.proto: the names of its
 * fields, user ids as uuids, bytes as base64. The counterpart of what codec/join-json.ts shows. MESSAGE_INVALID.
 */
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { toUserId } from './caller-ids.js';
import { JsonFields } from './json-fields.js';

export const MEDIA_NAMES = [
  'object_id',
  'mime',
  'bytes',
  'width',
  'height',
  'duration_ms',
  'thumbnail',
  'blurhash',
  'checksum',
];
export const MENTION_NAMES = ['user_ids', 'at_all'];
const UINT32_MAX = 0xffff_ffff;

let commonTypes: protobuf.Root | undefined;

export function mediaFromJson(value: unknown): Uint8Array {
  const fields = new JsonFields(value, MEDIA_NAMES, 'media_metadata.');
  return encode('MediaMetadata', {
    objectId: fields.requiredText('object_id'),
    mime: fields.text('mime'),
    bytes: unsigned(fields, 'bytes', Number.MAX_SAFE_INTEGER),
    width: unsigned(fields, 'width', UINT32_MAX),
    height: unsigned(fields, 'height', UINT32_MAX),
    durationMs: unsigned(fields, 'duration_ms', UINT32_MAX),
    thumbnail: fields.base64('thumbnail'),
    blurhash: fields.text('blurhash'),
    checksum: fields.base64('checksum'),
  });
}

export function mentionsFromJson(value: unknown): Uint8Array {
  const fields = new JsonFields(value, MENTION_NAMES, 'mention_targets.');
  const ids = fields.value('user_ids') ?? [];
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
    throw fields.problem('user_ids', 'is no list of uuids');
  }
  const userIds = ids.map((id: string, index) => toUserId(id, `mention_targets.user_ids[${index}]`));
  return encode('MentionTargets', { userIds, atAll: fields.boolean('at_all') });
}

function unsigned(fields: JsonFields, name: string, max: number): number | undefined {
  const value = fields.integer(name);
  if (value === undefined || (value >= 0 && value <= max)) return value;
  throw fields.problem(name, 'is out of range');
}

/** Absent fields are left out, as proto3 does with defaults. */
function encode(name: 'MediaMetadata' | 'MentionTargets', fields: Record<string, unknown>): Uint8Array {
  commonTypes ??= protobuf.loadSync(fileURLToPath(new URL('../../proto/common.proto', import.meta.url)));
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const type = commonTypes.lookupType(`mailjoin.common.v1.${name}`);
  return type.encode(type.create(given)).finish();
}
