/**
 * The demo's second half: a message's life before the reader's eyes, through a Writer and two running sidecars that
 * follow the same log. After each step both are asked until they show it; what they must not serve any more is never
 * accepted. Each step says what was acknowledged and what the joins answered, with the time from one to the other.
 */
import { randomBytes } from 'node:crypto';
import type { MailjoinClient } from '../client/index.js';
import { CONVERSATION_SCOPE, conversationKeyId } from '../crypto/conversation-key.js';
import { conversationIdOf, tenantIdOf, type UserId, userIdOf } from '../domain/ids.js';
import type { Acknowledgement } from '../write/commit.js';
import type { MessageToCommit } from '../write/message-to-commit.js';
import type { MessageTarget } from '../write/row-change.js';
import type { Writer } from '../write/writer.js';
import { type Floor, type Seen, type Sight, watch } from './demo-watch.js';
import type { OpenedWriter } from './open-writer.js';
import { textTable } from './text-table.js';

export interface DemoReaders {
  /** Of the sidecar that the reading half ran on. */
  readonly own: MailjoinClient;
  /** Of another sidecar on the same store and log. */
  readonly other: MailjoinClient;
}

interface Step {
  readonly name: string;
  readonly acknowledged: string;
  readonly writeMs: number;
  readonly own: Seen;
  readonly other: Seen;
}

const FIRST_TEXT = 'Shall we meet at noon?';
const EDITED_TEXT = 'Shall we meet at one?';
const SECRET_TEXT = 'The door code is 4711.';
const HEART = '\u2764';

/** Runs every step; resolves to what was not as it must be, in words. */
export async function demoWriting(
  opened: Pick<OpenedWriter, 'writer' | 'destroyKey'>,
  readers: DemoReaders,
  print: (line: string) => void,
): Promise<readonly string[]> {
  const life = new MessageLife(opened, readers);
  const steps = await life.run();
  const rows = steps.map(({ name, acknowledged, writeMs, own, other }) => [
    name,
    acknowledged,
    writeMs.toFixed(1),
    own.answer,
    own.tookMs.toFixed(1),
    other.answer,
    other.tookMs.toFixed(1),
  ]);
  const headings = [
    'step',
    'acknowledged',
    'ms',
    'this sidecar answers',
    'after ms',
    'another sidecar',
    'after ms',
  ];
  print(textTable(headings, rows));
  return [
    ...life.differences,
    ...steps.flatMap(({ name, own, other }) =>
      [own, other].flatMap(({ difference }) => (difference === undefined ? [] : [`${name}: ${difference}`])),
    ),
  ];
}

class MessageLife {
  readonly differences: string[] = [];
  readonly #writer: Writer;
  readonly #destroyKey: OpenedWriter['destroyKey'];
  readonly #readers: DemoReaders;
  readonly #steps: Step[] = [];
  readonly #tenantId = sixteen(tenantIdOf);

  constructor({ writer, destroyKey }: Pick<OpenedWriter, 'writer' | 'destroyKey'>, readers: DemoReaders) {
    this.#writer = writer;
    this.#destroyKey = destroyKey;
    this.#readers = readers;
  }

  async run(): Promise<readonly Step[]> {
    const message = this.#message(FIRST_TEXT);
    const target = await this.#commit(message, FIRST_TEXT);
    await this.#retry(message, target);
    await this.#edit(target);
    const [one, two] = [sixteen(userIdOf), sixteen(userIdOf)];
    await this.#react('two users react', target, [one, two], HEART, 2);
    await this.#react('one takes it back', target, [one], undefined, 1);
    await this.#recall(target);
    await this.#erase();
    return this.#steps;
  }

  async #commit(message: MessageToCommit, text: string): Promise<MessageTarget> {
    const write = async () => {
      const acknowledgement = await this.#writer.commit(message);
      const target = targetOf(message, acknowledgement);
      return { target, acknowledged: `seq ${acknowledgement.seq}`, floor: undefined };
    };
    return this.#step('commit', write, { result: 'OK', text });
  }

  async #retry(message: MessageToCommit, target: MessageTarget): Promise<void> {
    const write = async () => {
      const again = await this.#writer.commit(message);
      const isSame = again.seq === target.seq && Buffer.compare(again.messageId, target.messageId) === 0;
      if (!isSame) this.differences.push('retry: another acknowledgement for the same client_message_id');
      return {
        target,
        acknowledged: isSame ? `seq ${again.seq} again` : `seq ${again.seq}`,
        floor: undefined,
      };
    };
    await this.#step('retry, same client_message_id', write, { result: 'OK', text: FIRST_TEXT });
  }

  async #edit(target: MessageTarget): Promise<void> {
    const write = async () => {
      const payload = Buffer.from(EDITED_TEXT);
      const { eventSeq, lastActivityId } = await this.#writer.edit({ ...target, payload });
      return { target, acknowledged: `event ${eventSeq}`, floor: { lastActivityId } };
    };
    await this.#step('edit', write, { result: 'OK', text: EDITED_TEXT });
  }

  async #react(
    name: string,
    target: MessageTarget,
    users: readonly UserId[],
    reactionKey: string | undefined,
    count: number,
  ): Promise<void> {
    const write = async () => {
      const requests = users.map((userId) => this.#writer.react({ ...target, userId, reactionKey }));
      const versions = (await Promise.all(requests)).map(({ summaryVersion }) => summaryVersion);
      const [summaryVersion] = versions.sort((a, b) => (a > b ? -1 : 1));
      return {
        target,
        acknowledged: `summary ${summaryVersion}`,
        floor: { summaryVersion: summaryVersion ?? 0n },
      };
    };
    await this.#step(name, write, { result: 'OK', text: EDITED_TEXT, counts: { [HEART]: count } });
  }

  async #recall(target: MessageTarget): Promise<void> {
    const write = async () => {
      const { eventSeq, lastActivityId } = await this.#writer.recall(target);
      return { target, acknowledged: `event ${eventSeq}`, floor: { lastActivityId } };
    };
    await this.#step('recall', write, { result: 'RECALLED', counts: { [HEART]: 1 } });
  }

  /** In a conversation of its own: its key takes everything under it. */
  async #erase(): Promise<void> {
    const message = this.#message(SECRET_TEXT);
    const target = await this.#commit(message, SECRET_TEXT);
    const write = async () => {
      const id = conversationKeyId(message.tenantId, message.conversationId);
      await this.#destroyKey({ scope: CONVERSATION_SCOPE, id, version: 1 });
      return { target, acknowledged: 'its key is destroyed', floor: undefined };
    };
    await this.#step('destroy the key', write, { result: 'ERASED' });
  }

  async #step(
    name: string,
    write: () => Promise<{ target: MessageTarget; acknowledged: string; floor: Floor | undefined }>,
    expected: Sight,
  ): Promise<MessageTarget> {
    const startedMs = performance.now();
    const { target, acknowledged, floor } = await write();
    const writeMs = performance.now() - startedMs;
    const [own, other] = await Promise.all([
      watch(this.#readers.own, target, expected, floor),
      // Without a floor: what it has cached must give way to what the log says.
      watch(this.#readers.other, target, expected, undefined),
    ]);
    this.#steps.push({ name, acknowledged, writeMs, own, other });
    return target;
  }

  #message(text: string): MessageToCommit {
    return {
      tenantId: this.#tenantId,
      conversationId: sixteen(conversationIdOf),
      senderId: sixteen(userIdOf),
      clientMessageId: randomBytes(8).toString('hex'),
      payload: Buffer.from(text),
      preview: Buffer.from(text),
    };
  }
}

function targetOf(
  { tenantId, conversationId }: MessageToCommit,
  { seq, messageId }: Acknowledgement,
): MessageTarget {
  return { tenantId, conversationId, seq, messageId };
}

function sixteen<T>(parse: (bytes: Uint8Array) => T | undefined): T {
  // 16 bytes are what every id is made of.
  return parse(randomBytes(16)) as T;
}
