/** The routes that take a request's body, and what each does with it: decode, work, encode. */
import type { DetailRequest } from '../codec/detail-request.js';
import type { DetailOutcome } from '../codec/detail-response.js';
import type { MediaType } from '../codec/error-response.js';
import type { HistoryOutcome } from '../codec/history-outcome.js';
import type { HistoryRequest } from '../codec/history-request.js';
import type { JoinOutcome } from '../codec/join-outcome.js';
import type { JoinRequest } from '../codec/join-request.js';
import type { LookupOutcome, LookupRequest } from '../codec/lookup.js';
import { RequestKind } from '../domain/entries.js';
import { MailjoinError } from '../domain/errors.js';
import { PAYLOAD_BYTES_MAX } from '../domain/limits.js';
import { DETAIL_CODECS, HISTORY_CODECS, LOOKUP_CODECS, MEDIA_CODECS } from './media-codecs.js';
import type { Metrics, RequestName } from './metrics.js';

/** Asked before a response takes that many bytes of memory. */
type MayHold = (bytes: number) => boolean;

/** What joins a batch; src/join's Joiner. */
export interface JoinService {
  join(request: JoinRequest, decodeMicros: number, mayHold: MayHold): Promise<JoinOutcome>;
}

/** What reads a history page; src/history's HistoryReader. */
export interface HistoryService {
  page(
    request: HistoryRequest,
    decodeMicros: number,
    mayHold: MayHold,
    isWanted: () => boolean,
  ): Promise<HistoryOutcome>;
}

/** What reads a message in detail; src/history's DetailReader. */
export interface DetailService {
  detail(request: DetailRequest, decodeMicros: number, mayHold: MayHold): Promise<DetailOutcome>;
}

/** What looks a message_id up; src/history's MessageLookup. */
export interface LookupService {
  lookup(request: LookupRequest, decodeMicros: number, mayHold: MayHold): Promise<LookupOutcome>;
}

/** A decoded request, ready to be admitted and worked on. */
export interface Work {
  /** Its label in the metrics. */
  readonly name: RequestName;
  /** How it is admitted. */
  readonly kind: RequestKind;
  readonly entryCount: number;
  readonly responseBytesMax: number;
  /** Resolves to the response's encoder; rejects with a coded error. `isWanted`: whether its caller is still there. */
  run(decodeMicros: number, mayHold: MayHold, isWanted: () => boolean): Promise<(media: MediaType) => Buffer>;
}

export interface Route {
  /** Throws a coded error when the request cannot be read as a whole; owns the bytes from then on. */
  decode(media: MediaType, bytes: Buffer): Work;
}

export function joinRoute(joiner: JoinService, metrics: Metrics): Route {
  return {
    decode(media, bytes) {
      const request = MEDIA_CODECS[media].decode(bytes);
      const name = request.kind === RequestKind.PUSH_EVENTS ? 'PUSH_EVENTS' : 'MAILBOX_BATCH';
      return {
        name,
        kind: request.kind,
        entryCount: request.entries.count,
        responseBytesMax: request.responseBytesMax,
        async run(decodeMicros, mayHold) {
          const outcome = await joiner.join(request, decodeMicros, mayHold);
          metrics.countBatch(name, outcome);
          return (responseMedia) => MEDIA_CODECS[responseMedia].encode(outcome);
        },
      };
    },
  };
}

/** Pages are admitted like backlogs: they never starve live delivery. */
export function historyRoute(history: HistoryService, metrics: Metrics): Route {
  return {
    decode(media, bytes) {
      const request = HISTORY_CODECS[media].decode(bytes);
      return {
        name: 'HISTORY',
        kind: RequestKind.MAILBOX_BATCH,
        entryCount: request.limit,
        responseBytesMax: request.responseBytesMax,
        async run(decodeMicros, mayHold, isWanted) {
          const outcome = await history.page(request, decodeMicros, mayHold, isWanted);
          metrics.countBatch('HISTORY', outcome);
          return (responseMedia) => HISTORY_CODECS[responseMedia].encode(outcome);
        },
      };
    },
  };
}

export function messageRoute(details: DetailService, metrics: Metrics): Route {
  return {
    decode(media, bytes) {
      const request = DETAIL_CODECS[media].decode(bytes);
      return {
        name: 'MESSAGE',
        kind: RequestKind.MAILBOX_BATCH,
        entryCount: 1,
        responseBytesMax: PAYLOAD_BYTES_MAX,
        async run(decodeMicros, mayHold) {
          const outcome = await details.detail(request, decodeMicros, mayHold);
          metrics.countResult('MESSAGE', outcome.result);
          return (responseMedia) => DETAIL_CODECS[responseMedia].encode(outcome);
        },
      };
    },
  };
}

/** For administration only (R2.2): without a service, which is the default, every request is refused with LOOKUP_OFF. */
export function lookupRoute(lookups: LookupService | undefined, metrics: Metrics): Route {
  return {
    decode(media, bytes) {
      if (lookups === undefined) throw new MailjoinError('LOOKUP_OFF');
      const request = LOOKUP_CODECS[media].decode(bytes);
      return {
        name: 'LOOKUP',
        kind: RequestKind.MAILBOX_BATCH,
        entryCount: 1,
        responseBytesMax: PAYLOAD_BYTES_MAX,
        async run(decodeMicros, mayHold) {
          const outcome = await lookups.lookup(request, decodeMicros, mayHold);
          metrics.countResult('LOOKUP', outcome.result);
          return (responseMedia) => LOOKUP_CODECS[responseMedia].encode(outcome);
        },
      };
    },
  };
}
