/**
 * The misses of one batch, grouped by (conversation, bucket) (R4.3 step 3). Flights outlive the batch and its buffer,
 * so they own their ids; those of a group share its conversation_id. Entries mostly come conversation by conversation,
 * so the last group is tried before the map is.
 */
import { strict as assert } from 'node:assert';
import { RequestKind } from '../domain/entries.js';
import {
  type ConversationId,
  conversationIdOf,
  equalIdAt,
  ID_BYTES,
  idKeyAt,
  messageIdOf,
  type TenantId,
  tenantIdOf,
} from '../domain/ids.js';
import { bucketOf } from '../domain/seq.js';
import type { Batch } from './batch.js';
import { Flight } from './flights.js';
import type { Group } from './group-fetch.js';
import { Turn } from './read-gate.js';

interface OpenGroup extends Group {
  readonly conversationId: ConversationId;
}

export class MissGroups {
  readonly groups: OpenGroup[] = [];
  private readonly batch: Batch;
  private readonly byName = new Map<string, OpenGroup>();
  private tenantId: TenantId | undefined = undefined;
  private last: OpenGroup | undefined = undefined;

  constructor(batch: Batch) {
    this.batch = batch;
  }

  /** A new flight for an entry's message, in the group of its conversation and bucket. */
  start(first: number, hash: number): Flight {
    const { entries, request } = this.batch;
    this.tenantId ??= owned(request.tenantId, 0, tenantIdOf);
    const seq = entries.seq(first);
    const group = this.groupOf(bucketOf(seq), entries.bytes, entries.conversationAt[first] as number);
    const messageId = owned(entries.bytes, entries.messageAt[first] as number, messageIdOf);
    const flight = new Flight(this.tenantId, group.conversationId, seq, messageId, hash, group.turn);
    group.flights.push(flight);
    return flight;
  }

  private groupOf(bucket: bigint, bytes: Uint8Array, conversationAt: number): OpenGroup {
    const { last } = this;
    if (
      last !== undefined &&
      last.bucket === bucket &&
      equalIdAt(last.conversationId, 0, bytes, conversationAt)
    ) {
      return last;
    }
    const name = idKeyAt(bytes, conversationAt) + bucket;
    let group = this.byName.get(name);
    if (group === undefined) {
      const conversationId = owned(bytes, conversationAt, conversationIdOf);
      const { receipt, request } = this.batch;
      const turn = new Turn(request.kind === RequestKind.PUSH_EVENTS);
      const { wantReceipt } = request;
      group = { flights: [], receipt, wantReceipt, bucket, turn, conversationId };
      this.byName.set(name, group);
      this.groups.push(group);
    }
    this.last = group;
    return group;
  }
}

/** A copy of the 16 bytes at an offset, as an id. */
function owned<Id>(bytes: Uint8Array, at: number, parse: (bytes: Uint8Array) => Id | undefined): Id {
  // Not bytes.slice(): that of a Buffer is a view.
  const id = parse(Uint8Array.prototype.slice.call(bytes, at, at + ID_BYTES));
  assert(id !== undefined, 'the columns hold whole ids');
  return id;
}
