/**
 * The demo's faulty rows, in two small chats of their own so that no other batch meets them: a ciphertext that was
 * moved, an unsealed row, and a chat whose key is destroyed.
 */
import type { TenantId } from '../domain/ids.js';
import { MessageState, RetentionClass } from '../domain/message.js';
import { demoConversation } from './demo-conversation.js';
import { bodyOf, type DemoConversation, type DemoExpectation, type DemoMessage } from './demo-message.js';
import type { DemoRandom } from './demo-random.js';

export interface DemoOddities {
  readonly odd: DemoConversation;
  /** Of `odd`: sealed for another seq, so that it does not authenticate (R6.1). */
  readonly moved: DemoMessage;
  /** Of `odd`: without dek_id (D22). */
  readonly unsealed: DemoMessage;
  /** Of `odd`: deleted (D12). */
  readonly deleted: DemoMessage;
  /** Of `odd`: as they should be. */
  readonly sound: readonly DemoMessage[];
  /** Its key is destroyed after filling: every message of it is ERASED (R3.2). */
  readonly erased: DemoConversation;
}

const ODD_MESSAGES = 9;
const ERASED_MESSAGES = 8;

export function demoOddities(random: DemoRandom, tenantId: TenantId, nowEpochMs: number): DemoOddities {
  const chat = (messageCount: number): DemoConversation =>
    demoConversation(
      random,
      {
        tenantId,
        kind: 'direct',
        messageCount,
        firstSeq: 1n,
        hasHoles: false,
        retentionSeconds: 30 * 86_400,
        retentionClass: RetentionClass.DEFAULT,
      },
      nowEpochMs,
    );
  const plain = chat(ODD_MESSAGES);
  const [first, second, third, ...rest] = plain.messages.map(withoutHistory) as [
    // ODD_MESSAGES are made, which is more than three.
    DemoMessage,
    DemoMessage,
    DemoMessage,
    ...DemoMessage[],
  ];
  const moved: DemoMessage = {
    ...first,
    content: { ...first.content, sealSeq: first.where.seq + 1n },
    expected: { result: 'TAMPERED' },
  };
  const unsealed: DemoMessage = {
    ...second,
    record: { ...second.record, dekId: undefined },
    content: { ...second.content, dekId: undefined },
    expected: { result: 'TAMPERED' },
  };
  const deleted: DemoMessage = {
    ...third,
    record: { ...third.record, state: MessageState.DELETED },
    expected: { result: 'NOT_FOUND' },
  };
  const doomed = chat(ERASED_MESSAGES);
  const erasedExpectation: DemoExpectation = { result: 'ERASED' };
  return {
    odd: { ...plain, messages: [moved, unsealed, deleted, ...rest] },
    moved,
    unsealed,
    deleted,
    sound: rest,
    erased: {
      ...doomed,
      messages: doomed.messages.map((each) => ({ ...withoutHistory(each), expected: erasedExpectation })),
    },
  };
}

/** A message that was neither edited, recalled nor deleted, and that nobody reacted to. */
function withoutHistory(message: DemoMessage): DemoMessage {
  const { record, content, where } = message;
  const sound = { ...record, state: MessageState.NORMAL };
  const body = bodyOf(sound, where.conversationId, content, undefined, undefined);
  return {
    ...message,
    record: sound,
    edit: undefined,
    recall: undefined,
    summaries: [],
    expected: { result: 'OK', body },
  };
}
