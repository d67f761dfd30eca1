/** One message in detail (R4.5): MessageResponse (proto/mailjoin.proto) in the three media types. */
import { formatUuid, type UserId } from '../domain/ids.js';
import { resultName } from '../domain/result.js';
import type { Reaction } from '../domain/write-ports.js';
import { encodeFields, type FieldSink } from './field-sink.js';
import { bodyJson } from './join-json.js';
import { packMsgpack } from './join-msgpack.js';
import { CONTRACT_VERSION } from './join-request.js';

export interface DetailOutcome {
  /** ResultCode, as in a join. */
  readonly result: number;
  /** The encoded MessageBody; with OK and RECALLED only. */
  readonly body: Uint8Array | undefined;
  /** What the asking user reacted with: none or one (D19). */
  readonly selfReactionKeys: readonly string[];
  /** Undefined when nobody asked for them, or the message is not shown. */
  readonly reactors: ReactorsPage | undefined;
}

/** Who reacted: a part of them, in the store's own order. */
export interface ReactorsPage {
  /** None of them taken back. */
  readonly shown: readonly Reaction[];
  /** Where to go on; undefined exactly when no further reactor is shown, but for pages that ended short. */
  readonly next: UserId | undefined;
}

export function encodeDetailResponse(outcome: DetailOutcome): Buffer {
  const bytes = encodeFields(outcome, writeResponse);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeResponse(sink: FieldSink, { result, body, selfReactionKeys, reactors }: DetailOutcome): void {
  sink.varint(1, CONTRACT_VERSION);
  sink.bytes(2, body);
  sink.varint(3, result);
  for (const key of selfReactionKeys) sink.text(4, key);
  if (reactors === undefined) return;
  for (const reactor of reactors.shown) sink.message(5, reactor, writeReactor);
  sink.bytes(6, reactors.next);
}

function writeReactor(sink: FieldSink, { userId, reactionKey, createdAtMs }: Reaction): void {
  sink.bytes(1, userId);
  sink.text(2, reactionKey);
  sink.varint(3, createdAtMs);
}

export function encodeDetailResponseJson(outcome: DetailOutcome): Buffer {
  const { result, body } = outcome;
  const response = {
    contract_version: CONTRACT_VERSION,
    result: resultName(result),
    ...(body === undefined ? {} : { body: bodyJson(body) }),
    ...reactionFields(outcome, formatUuid, String),
  };
  return Buffer.from(JSON.stringify(response));
}

export function encodeDetailResponseMsgpack(outcome: DetailOutcome): Buffer {
  const { result, body } = outcome;
  const same = <T>(value: T): T => value;
  return packMsgpack({
    contract_version: CONTRACT_VERSION,
    result,
    ...(body === undefined ? {} : { body }),
    ...reactionFields(outcome, same, same),
  });
}

function reactionFields(
  { selfReactionKeys, reactors }: DetailOutcome,
  uuidForm: (uuid: Uint8Array) => unknown,
  integerForm: (integer: bigint) => unknown,
): Record<string, unknown> {
  if (reactors === undefined) return { self_reaction_keys: selfReactionKeys };
  return {
    self_reaction_keys: selfReactionKeys,
    reactors: reactors.shown.map(({ userId, reactionKey, createdAtMs }) => ({
      user_id: uuidForm(userId),
      reaction_key: reactionKey,
      created_at: integerForm(createdAtMs),
    })),
    ...(reactors.next === undefined ? {} : { next_reactors_after: uuidForm(reactors.next) }),
  };
}
