/**
 * `mailjoin/client`: joins mailbox batches through the sidecar of this node.
 *
 *     const client = new MailjoinClient({ socketPath: '/run/mailjoin/join.sock' });
 *     const { entries } = await client.join({ kind: 'MAILBOX_BATCH', tenantId, entries: references });
 *     for (const { result, body } of entries) if (body !== undefined) frame.append(body);
 *
 * Ids are bytes (16, network order or big-endian) or text, sequence numbers are bigints, times are milliseconds.
 * Failures of a call are MailjoinErrors with a stable `code` and `retryable`; failures of an entry are its outcome.
 */

export type { MessageBody, Reactions } from '../codec/message-body.js';
export type { Receipt } from '../codec/receipt.js';
export { type ErrorCode, MailjoinError } from '../domain/errors.js';
export type { HistoryHole, HistoryStopName } from '../domain/history.js';
export { type PlannedRead, type PlanReasonName, planReasonName } from '../domain/planned-read.js';
export { type ClientOptions, MailjoinClient } from './client.js';
export type { HistoryEntry, HistoryPage, HistoryRequest } from './history-call.js';
export type { CallOptions, JoinEntry, JoinFloor, JoinRequest } from './join-request.js';
export type { EntryOutcome, JoinResult, ResultName } from './join-result.js';
export type { LookupRequest, MessageCoordinates, MessagePlace } from './lookup-call.js';
export { decodeMessageBody } from './message-body.js';
export type { MessageDetail, MessageRequest, Reactor, ReactorsRequest } from './message-call.js';
export type { Probe } from './probe.js';
export { SidecarError } from './sidecar-error.js';
