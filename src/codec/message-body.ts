/**
 * Reads an encoded MessageBody (proto/mailjoin.proto) back into a typed object: for gateways that look inside, for
 * people's JSON, and for checks. The gateway's hot path does not need it: bodies are placed into frames unchanged.
 */
import { bigintOf, bytesOf, int32Of } from './field-reading.js';
import { WireReader } from './wire.js';

/** A decoded body. Ids are raw bytes; 64-bit numbers are bigints; absent fields are undefined. Byte fields are views. */
export interface MessageBody {
  messageId: Uint8Array;
  conversationId: Uint8Array;
  conversationSeq: bigint;
  lastActivityId: Uint8Array | undefined;
  senderId: Uint8Array | undefined;
  senderDeviceId: Uint8Array | undefined;
  clientMessageId: string | undefined;
  messageType: number | undefined;
  customType: string | undefined;
  schemaVersion: number | undefined;
  /** MessageState: 0 NORMAL, 1 RECALLED, 2 EDITED. */
  state: number;
  recallEventConversationSeq: bigint | undefined;
  editedAtActivityId: Uint8Array | undefined;
  /** Milliseconds since 1970 UTC. */
  createdAtMs: bigint;
  replyToConversationSeq: bigint | undefined;
  /** Protobuf mailjoin.common.v1.MediaMetadata. */
  mediaMetadata: Uint8Array | undefined;
  /** Protobuf mailjoin.common.v1.MentionTargets. */
  mentionTargets: Uint8Array | undefined;
  payload: Uint8Array | undefined;
  reactions: Reactions | undefined;
}

/** Absolute counts by reaction key; a Map, since keys come from users. */
export interface Reactions {
  counts: Map<string, number>;
  summaryVersion: bigint;
  updatedAtMs: bigint | undefined;
}

/** Decodes a body; unknown fields are skipped. Throws WireError when the bytes are no message. */
export function decodeMessageBody(bytes: Uint8Array): MessageBody {
  const body: MessageBody = {
    messageId: new Uint8Array(0),
    conversationId: new Uint8Array(0),
    conversationSeq: 0n,
    lastActivityId: undefined,
    senderId: undefined,
    senderDeviceId: undefined,
    clientMessageId: undefined,
    messageType: undefined,
    customType: undefined,
    schemaVersion: undefined,
    state: 0,
    recallEventConversationSeq: undefined,
    editedAtActivityId: undefined,
    createdAtMs: 0n,
    replyToConversationSeq: undefined,
    mediaMetadata: undefined,
    mentionTargets: undefined,
    payload: undefined,
    reactions: undefined,
  };
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) readField(reader, tag, body);
  return body;
}

function readField(reader: WireReader, tag: number, body: MessageBody): void {
  switch (tag >>> 3) {
    case 1:
      body.messageId = bytesOf(reader, tag);
      return;
    case 2:
      body.conversationId = bytesOf(reader, tag);
      return;
    case 3:
      body.conversationSeq = bigintOf(reader, tag);
      return;
    case 4:
      body.lastActivityId = bytesOf(reader, tag);
      return;
    case 5:
      body.senderId = bytesOf(reader, tag);
      return;
    case 6:
      body.senderDeviceId = bytesOf(reader, tag);
      return;
    case 7:
      body.clientMessageId = textOf(reader, tag);
      return;
    case 8:
      body.messageType = int32Of(reader, tag);
      return;
    case 9:
      body.customType = textOf(reader, tag);
      return;
    case 10:
      body.schemaVersion = int32Of(reader, tag);
      return;
    case 11:
      body.state = int32Of(reader, tag);
      return;
    case 12:
      body.recallEventConversationSeq = bigintOf(reader, tag);
      return;
    case 13:
      body.editedAtActivityId = bytesOf(reader, tag);
      return;
    case 14:
      body.createdAtMs = BigInt.asIntN(64, bigintOf(reader, tag));
      return;
    case 15:
      body.replyToConversationSeq = bigintOf(reader, tag);
      return;
    case 16:
      body.mediaMetadata = bytesOf(reader, tag);
      return;
    case 17:
      body.mentionTargets = bytesOf(reader, tag);
      return;
    case 18:
      body.payload = bytesOf(reader, tag);
      return;
    case 19:
      body.reactions = readReactions(bytesOf(reader, tag));
      return;
    default:
      reader.skip(tag);
  }
}

function readReactions(bytes: Uint8Array): Reactions {
  const reactions: Reactions = { counts: new Map(), summaryVersion: 0n, updatedAtMs: undefined };
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag >>> 3) {
      case 1: {
        const [key, count] = readCount(bytesOf(reader, tag));
        reactions.counts.set(key, count);
        break;
      }
      case 2:
        reactions.summaryVersion = bigintOf(reader, tag);
        break;
      case 3:
        reactions.updatedAtMs = BigInt.asIntN(64, bigintOf(reader, tag));
        break;
      default:
        reader.skip(tag);
    }
  }
  return reactions;
}

function readCount(bytes: Uint8Array): [string, number] {
  let key = '';
  let count = 0;
  const reader = new WireReader(bytes);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag >>> 3 === 1) key = textOf(reader, tag);
    else if (tag >>> 3 === 2) count = int32Of(reader, tag) >>> 0;
    else reader.skip(tag);
  }
  return [key, count];
}

function textOf(reader: WireReader, tag: number): string {
  const bytes = bytesOf(reader, tag);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
