/**
 * The tables as data: the six of R2, column by column and option by option, and our own beside them. The one source
 * for both the DDL (schema-statements.ts) and the comparison with a live keyspace (schema-verify.ts).
 */

import { DEDUP_TTL_SECONDS } from '../domain/limits.js';

type CqlType = 'uuid' | 'bigint' | 'int' | 'tinyint' | 'text' | 'blob' | 'map<text,int>' | typeof DEK_ID_TYPE;
/** (key_scope, key_id, key_version), R1. */
const DEK_ID_TYPE = 'frozen<tuple<text,text,int>>';

export type Compaction =
  | { readonly kind: 'TWCS'; readonly size: number; readonly unit: 'HOURS' | 'DAYS' }
  | { readonly kind: 'LCS' };

export interface TableDefinition {
  readonly name: string;
  readonly partitionKey: readonly (readonly [string, CqlType])[];
  readonly clustering: readonly (readonly [string, CqlType, 'ASC' | 'DESC'])[];
  readonly columns: readonly (readonly [string, CqlType])[];
  readonly compaction: Compaction;
  /** Undefined where R2 says nothing: the store's default, which verify does not compare. */
  readonly gcGraceSeconds: number | undefined;
  /** 0 everywhere but in client_dedup (R2): a table TTL would make held rows vanish (S-5). */
  readonly defaultTimeToLive: number;
}

const LCS: Compaction = { kind: 'LCS' };
const TENANT = ['tenant_id', 'uuid'] as const;
const CONVERSATION = ['conversation_id', 'uuid'] as const;

/** Equal for message_record and message_reaction_summary on purpose (R2.5). */
const BUCKET_KEY = [TENANT, CONVERSATION, ['seq_bucket', 'bigint']] as const;
const SEQ_DESCENDING = [['conversation_seq', 'bigint', 'DESC']] as const;

/** The six tables of R2. */
const MESSAGE_TABLES: readonly TableDefinition[] = [
  {
    name: 'message_record',
    partitionKey: BUCKET_KEY,
    clustering: SEQ_DESCENDING,
    columns: [
      ['message_id', 'blob'],
      ['last_activity_id', 'blob'],
      ['sender_id', 'uuid'],
      ['sender_device_id', 'uuid'],
      ['client_message_id', 'text'],
      ['message_type', 'tinyint'],
      ['custom_type', 'text'],
      ['schema_version', 'int'],
      ['payload_or_ciphertext', 'blob'],
      ['media_metadata', 'blob'],
      ['reply_to_conversation_seq', 'bigint'],
      ['mention_targets', 'blob'],
      ['state', 'tinyint'],
      ['recall_event_conversation_seq', 'bigint'],
      ['edited_at_activity_id', 'blob'],
      ['created_at', 'bigint'],
      ['retention_class', 'tinyint'],
      ['dek_id', DEK_ID_TYPE],
    ],
    compaction: { kind: 'TWCS', size: 7, unit: 'DAYS' },
    gcGraceSeconds: 86_400,
    defaultTimeToLive: 0,
  },
  {
    name: 'message_index',
    partitionKey: [TENANT, ['message_id', 'blob']],
    clustering: [],
    columns: [CONVERSATION, ['conversation_seq', 'bigint'], ['seq_bucket', 'bigint']],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'client_dedup',
    partitionKey: [TENANT, ['sender_id', 'uuid'], ['client_message_id', 'text']],
    clustering: [],
    columns: [
      ['message_id', 'blob'],
      ['conversation_seq', 'bigint'],
      ['state', 'tinyint'],
      ['created_at', 'bigint'],
    ],
    // One hour, not six (D1).
    compaction: { kind: 'TWCS', size: 1, unit: 'HOURS' },
    gcGraceSeconds: 3_600,
    defaultTimeToLive: DEDUP_TTL_SECONDS,
  },
  {
    name: 'conversation_head',
    partitionKey: [TENANT, CONVERSATION],
    clustering: [],
    columns: [
      ['latest_conversation_seq', 'bigint'],
      ['earliest_available_conversation_seq', 'bigint'],
      ['last_message_id', 'blob'],
      ['last_activity_id', 'blob'],
      ['last_sender_id', 'uuid'],
      ['preview_or_placeholder', 'blob'],
      ['member_count', 'int'],
      ['updated_at', 'bigint'],
      ['fencing_epoch', 'bigint'],
      ['head_version', 'bigint'],
    ],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'message_reaction_summary',
    partitionKey: BUCKET_KEY,
    clustering: SEQ_DESCENDING,
    columns: [
      ['counts', 'map<text,int>'],
      ['summary_version', 'bigint'],
      ['updated_at', 'bigint'],
    ],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'message_reaction',
    partitionKey: [TENANT, CONVERSATION, ['conversation_seq', 'bigint']],
    clustering: [['user_id', 'uuid', 'ASC']],
    columns: [
      ['reaction_key', 'text'],
      ['created_at', 'bigint'],
    ],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
];

/**
 * Ours, in the same keyspace: W (D11) and the KEK's check value, once recorded; wrapped DEKs, which were destroyed when,
 * the windows of seqs that are reserved, and how far recovery and the advancer have come.
 */
const OWN_TABLES: readonly TableDefinition[] = [
  {
    name: 'mailjoin_meta',
    partitionKey: [['name', 'text']],
    clustering: [],
    columns: [['value', 'text']],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'mailjoin_dek',
    partitionKey: [
      ['key_scope', 'text'],
      ['key_id', 'text'],
    ],
    clustering: [['key_version', 'int', 'ASC']],
    columns: [
      ['wrapped', 'blob'],
      ['created_at', 'bigint'],
      ['destroyed_at', 'bigint'],
    ],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'mailjoin_dek_destroyed',
    partitionKey: [['day', 'int']],
    clustering: [
      ['recorded_at', 'bigint', 'ASC'],
      ['key_scope', 'text', 'ASC'],
      ['key_id', 'text', 'ASC'],
      ['key_version', 'int', 'ASC'],
    ],
    columns: [],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'mailjoin_sequence',
    partitionKey: [TENANT, CONVERSATION],
    clustering: [],
    columns: [
      ['next_seq', 'bigint'],
      ['reserved_at', 'bigint'],
    ],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
  {
    name: 'mailjoin_checkpoint',
    partitionKey: [['name', 'text']],
    clustering: [],
    columns: [['value', 'text']],
    compaction: LCS,
    gcGraceSeconds: undefined,
    defaultTimeToLive: 0,
  },
];

/** Every table that the keyspace must have. */
export const TABLES: readonly TableDefinition[] = [...MESSAGE_TABLES, ...OWN_TABLES];
