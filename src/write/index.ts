/**
 * What `mailjoin/store` (src/cli/library.ts, which adds the opening of stores and logs) has of the write side: what a
 * process that writes messages needs, and nothing of how it is done. A Writer is made over ports (a store, a log, a sealer).
 *
 *     const writer = new Writer({ messages, writes, outbox, sealer, retention, clock, onAlert });
 *     const { messageId, seq } = await writer.commit({ tenantId, conversationId, senderId, clientMessageId, payload });
 *     await writer.edit({ tenantId, conversationId, seq, messageId, payload: corrected });
 *     await writer.close(10_000);
 */
export { MailjoinError } from '../domain/errors.js';
export { RetentionClass } from '../domain/message.js';
export { reactionKeyOf } from '../domain/reaction.js';
export type { Sealer } from '../domain/sealing.js';
export type { AlertListener, WriteAlert } from './alerts.js';
export type { AllocatedEvent, AllocatedMessage, SequenceAllocator } from './allocator.js';
export { WindowAllocator, type WindowAllocatorOptions } from './allocator.js';
export type { Acknowledgement, RecordMode } from './commit.js';
export type { EditRequest } from './edit.js';
export { CountedEpochs, type EpochSource } from './head-epochs.js';
export type { HeadWriterStats } from './heads.js';
export type { LiftedClass } from './holds.js';
export { insertMicros, revisionMicros } from './message-ids.js';
export type { MessageToCommit } from './message-to-commit.js';
export type { ReactionAcknowledgement, ReactionRequest } from './reactions.js';
export type { EventAcknowledgement, RecallRequest } from './recall.js';
export type { RecoveryReport } from './recovery.js';
export { type RemainingLife, type RetainedRow, Retention } from './retention.js';
export {
  beyond2038,
  NO_POLICIES,
  parseRetentionPolicies,
  type RetentionPolicies,
} from './retention-policies.js';
export type { MessageTarget } from './row-change.js';
export type { Operation, Step, StepWatcher } from './steps.js';
export { Writer, type WriterOptions } from './writer.js';
