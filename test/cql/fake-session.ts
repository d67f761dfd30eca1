/** A session that answers from a script and remembers what it was asked: for what a real store never does. */
import type { CqlPage, CqlRow, CqlSession, CqlValue } from '../../src/cql/session.js';
import type { CqlStatement } from '../../src/cql/statement.js';

export interface Asked {
  readonly statement: CqlStatement;
  readonly values: readonly CqlValue[];
  readonly pageState: string | undefined;
  readonly pageRows: number | undefined;
}

export type Answer = (asked: Asked) => CqlPage | Promise<CqlPage>;

export class FakeSession implements CqlSession {
  readonly timeoutMs: number;
  readonly asked: Asked[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer = () => page([]), timeoutMs = 5_000) {
    this.#answer = answer;
    this.timeoutMs = timeoutMs;
  }

  async execute(
    statement: CqlStatement,
    values: readonly CqlValue[],
    pageState?: string,
    pageRows?: number,
  ): Promise<CqlPage> {
    const asked = { statement, values, pageState, pageRows };
    this.asked.push(asked);
    return this.#answer(asked);
  }

  async close(): Promise<void> {}
}

export function page(rows: readonly CqlRow[], pageState?: string): CqlPage {
  return { rows, pageState };
}

/** A row of message_record as the driver gives it, absent columns null. */
export function recordRow(seq: bigint, over: CqlRow = {}): CqlRow {
  return {
    conversation_seq: seq,
    message_id: Buffer.alloc(16, 1),
    last_activity_id: null,
    sender_id: null,
    sender_device_id: null,
    client_message_id: null,
    message_type: null,
    custom_type: null,
    schema_version: null,
    payload_or_ciphertext: null,
    media_metadata: null,
    reply_to_conversation_seq: null,
    mention_targets: null,
    state: 0,
    recall_event_conversation_seq: null,
    edited_at_activity_id: null,
    created_at: 1_748_736_000_000n,
    retention_class: null,
    dek_id: null,
    created_ttl: null,
    payload_ttl: null,
    state_ttl: null,
    ...over,
  };
}

/** A row of message_reaction_summary as the driver gives it. */
export function summaryRow(seq: bigint, over: CqlRow = {}): CqlRow {
  return { conversation_seq: seq, counts: null, summary_version: 1n, updated_at: null, ...over };
}
