/**
 * What a conversation's head should become: pure rules on head changes (R5.2, D2, D12).
 *
 * A change is a new last message, or a new revision of the last message or of a newer one (recall, edit). Changes that
 * wait for the same write are merged: only the newest message counts, and only revisions of it. latest_conversation_seq never goes back.
 */
import { type ActivityId, compareIdAt, equalIdAt, type MessageId, type UserId } from '../domain/ids.js';
import type { Coordinates } from '../domain/message.js';
import type { ConversationHead } from '../domain/write-ports.js';

/** A message that was committed. */
export interface HeadUpdate extends Coordinates {
  readonly messageId: MessageId;
  readonly senderId: UserId;
  /** Plaintext; undefined = the head shows none. */
  readonly preview: Uint8Array | undefined;
  /** What the preview's key follows from. */
  readonly createdAtMs: bigint;
  /** A retry's: that it comes late is no news. */
  readonly isRepeated: boolean;
}

/**
 * A message that was recalled or edited: matters while it is the last one. One that the head has not heard of yet is
 * entered by its revision: its commit's own update may still be on its way, and must not show what was recalled.
 */
export interface HeadRevision extends Coordinates {
  readonly messageId: MessageId;
  readonly senderId: UserId | undefined;
  readonly lastActivityId: ActivityId;
  /** Plaintext; undefined = the head shows none from now on (D12). */
  readonly preview: Uint8Array | undefined;
  readonly keyAtMs: bigint;
}

/** The head's content, with its preview still in plaintext. */
export interface HeadContent {
  readonly latestSeq: bigint;
  readonly lastMessageId: MessageId;
  readonly lastActivityId: ActivityId;
  readonly lastSenderId: UserId | undefined;
  readonly preview: Uint8Array | undefined;
  readonly keyAtMs: bigint;
}

/** Changes of one conversation that wait to be written. */
export interface HeadChange {
  readonly message: HeadUpdate | undefined;
  readonly revision: HeadRevision | undefined;
}

/** What is known of the head as it stands. */
export type KnownHead = Pick<HeadContent, 'latestSeq' | 'lastMessageId' | 'lastActivityId' | 'lastSenderId'>;

/** A head that was read, as far as it is one: undefined where no message was ever entered. */
export function knownHead(head: ConversationHead | undefined): KnownHead | undefined {
  if (head?.latestSeq === undefined || head.lastMessageId === undefined) return undefined;
  const { latestSeq, lastMessageId, lastActivityId, lastSenderId } = head;
  return {
    latestSeq,
    lastMessageId,
    lastSenderId,
    lastActivityId: lastActivityId ?? firstRevision(lastMessageId),
  };
}

/** Two changes as one. */
export function mergeChanges(a: HeadChange, b: HeadChange): HeadChange {
  return { message: newerMessage(a.message, b.message), revision: newerRevision(a.revision, b.revision) };
}

/** What to write, or undefined when the head shows the change, or something newer, already. */
export function contentAfter(known: KnownHead | undefined, change: HeadChange): HeadContent | undefined {
  const { message, revision } = change;
  let content: HeadContent | undefined;
  if (message !== undefined && (known === undefined || message.seq > known.latestSeq)) {
    content = {
      latestSeq: message.seq,
      lastMessageId: message.messageId,
      lastActivityId: firstRevision(message.messageId),
      lastSenderId: message.senderId,
      preview: message.preview,
      keyAtMs: message.createdAtMs,
    };
  }
  const base = content ?? known;
  if (revision === undefined) return content;
  const { seq, messageId, senderId, lastActivityId, preview, keyAtMs } = revision;
  if (base === undefined || seq > base.latestSeq) {
    return {
      latestSeq: seq,
      lastMessageId: messageId,
      lastSenderId: senderId,
      lastActivityId,
      preview,
      keyAtMs,
    };
  }
  if (!revises(revision, base)) return content;
  const { latestSeq, lastMessageId, lastSenderId } = base;
  return { latestSeq, lastMessageId, lastSenderId, lastActivityId, preview, keyAtMs };
}

function revises(revision: HeadRevision, head: KnownHead): boolean {
  return (
    equalIdAt(revision.messageId, 0, head.lastMessageId, 0) &&
    compareIdAt(revision.lastActivityId, 0, head.lastActivityId, 0) > 0
  );
}

function newerMessage(a: HeadUpdate | undefined, b: HeadUpdate | undefined): HeadUpdate | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.seq > a.seq ? b : a;
}

function newerRevision(a: HeadRevision | undefined, b: HeadRevision | undefined): HeadRevision | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.seq !== b.seq) return b.seq > a.seq ? b : a;
  return compareIdAt(b.lastActivityId, 0, a.lastActivityId, 0) > 0 ? b : a;
}

/** A message's first revision is its message_id (see AllocatedMessage): the same bytes under the other name. */
function firstRevision(messageId: MessageId): ActivityId {
  return messageId as Uint8Array as ActivityId;
}
