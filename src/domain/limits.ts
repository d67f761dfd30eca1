/**
 * Every bound of the system, with what happens when it is reached. Relations between them are asserted here, at load.
 */
import { strict as assert } from 'node:assert';
import { BUCKET_WIDTH } from './seq.js';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Entries in one request; more → ENTRIES_TOO_MANY (413). */
export const ENTRIES_MAX = 4096;
/** Bytes of a request body as sent; more → REQUEST_TOO_LARGE (413) and the connection closes. */
export const REQUEST_BYTES_MAX = 4 * MIB;
/** Bytes of bodies in one response when the request names no limit; further bodies → DEFERRED. */
export const RESPONSE_BYTES_DEFAULT = 16 * MIB;
/** The largest value that a request may name; larger values are lowered to it. */
export const RESPONSE_BYTES_MAX = 64 * MIB;
/** Deadline of a request that names none, by kind; entries unsettled by then → DEADLINE. */
export const DEADLINE_MS_DEFAULT = { MAILBOX_BATCH: 5_000, PUSH_EVENTS: 1_000 } as const;
/** The largest deadline a request may name; larger values are lowered to it. */
export const DEADLINE_MS_MAX = 60_000;

/** Elements of one IN list (R4.3, R7.3); longer lists are split. Configurable: ScyllaDB refuses more than 100 by default. */
export const IN_CAP_DEFAULT = 100;
/** Rows that a partition read may return (R4.2); more → STORE_CORRUPT. */
export const PARTITION_ROWS_MAX = BUCKET_WIDTH;
/** Content bytes that one read of a group brings, and one page or row more; no response holds more. What it did not reach → DEFERRED. */
export const GROUP_READ_BYTES_MAX = RESPONSE_BYTES_MAX;
/**
 * Rows of one page of the store's. Above the 500 of a usual backlog, so that its range needs one page; 512 rows with
 * 32 KiB thumbnails are 16 MiB, which a coordinator can still hold. ScyllaDB cuts pages at 1 MiB by itself.
 */
export const READ_PAGE_ROWS = 512;
/** Content bytes that a page of rows should have at most: where a conversation's rows were larger, its pages have fewer. */
export const PAGE_BYTES_MAX = 16 * MIB;
/** Rows of a page of a read that failed before: of the largest rows that a log takes by default, about PAGE_BYTES_MAX. */
export const REPEATED_PAGE_ROWS = 16;
/** Conversations of large rows that a store remembers; a forgotten one's next read fails and is repeated in small pages. */
export const LARGE_ROW_CONVERSATIONS_MAX = 10_000;
/** Bytes that the disk of the embedded store has left at least; below it writes → STORE_UNAVAILABLE, until there is more. */
export const EMBEDDED_FREE_BYTES_MIN = 64 * MIB;
/** Time for one read of a group, pages and all, before it counts as failed (→ one retry, then UNAVAILABLE). */
export const STORE_TIMEOUT_MS_DEFAULT = 2_000;
/** Attempts of one flight in all (B52): the first and one retry. */
export const FLIGHT_ATTEMPTS_MAX = 2;
/** Messages being fetched at once in the process; beyond it a batch's misses → UNAVAILABLE at once. */
export const FLIGHTS_MAX = 200_000;
/** Flights that backlogs leave free, for live delivery. */
export const FLIGHTS_PUSH_RESERVE = 20_000;
/** Flights with one hash that can be joined; further ones (one message_id at many coordinates: a caller's mistake) read for themselves, uncached. */
export const FLIGHT_SIBLINGS_MAX = 16;
/** Recalls and edits whose messages a joiner remembers; a batch that waited for longer than they last has all its bodies looked at. */
export const HEARD_EVENTS_MAX = 1_024;
/** Group reads under way at once; further ones wait, those of live delivery first. One that nobody waits for any more is not sent. */
export const GROUP_READS_MAX = 256;
/** Group reads that backlogs leave free, so that they never starve live delivery. */
export const GROUP_READS_PUSH_RESERVE = 64;

/** Planned reads that a receipt lists; further ones are only counted. */
export const RECEIPT_READS_MAX = 128;

/** Messages of one history page (R4.1); 0 asks for the default, more are lowered to the maximum. */
export const HISTORY_LIMIT_DEFAULT = 50;
export const HISTORY_LIMIT_MAX = 200;
/** Empty buckets in a row that a page scans; the last of them ends it, with an alert (R4.1, D4, S-3). */
export const HISTORY_MAX_EMPTY_BUCKET_SCAN = 8;
/**
 * Empty buckets above the head after which nothing is taken to lie beyond: the head lags behind the newest messages (D3),
 * and one bucket between may be a window that a crash has lost.
 */
export const HISTORY_EMPTY_ABOVE_HEAD = 2;
/** Buckets above the head in which the newest page looks for its start; a head further behind is an alert. */
export const HISTORY_ABOVE_HEAD_MAX = 64;
/** Rows of a further read of the same bucket, when rows that are not shown have used up the one before. */
export const HISTORY_READ_ROWS_MAX = 512;
/** Rows that history asks the store for at a time: a page of 50 and the look behind it, and the least that large rows bring. */
export const HISTORY_PAGE_ROWS = 64;
/** Bytes of a body beside its content and reactions, as pages reckon before it is encoded: ids and names. */
export const HISTORY_BODY_OVERHEAD_BYTES = 512;
/** Bounded reads of buckets under way at once; further ones wait. */
export const HISTORY_READS_MAX = 64;

/** Reactors of one page (R4.5); 0 asks for the default, more are lowered to the maximum. */
export const REACTORS_LIMIT_DEFAULT = 50;
export const REACTORS_LIMIT_MAX = 200;
/** Rows of message_reaction in one bounded read: with the one more that it looks for, one page of the CQL driver's. */
export const REACTOR_READ_ROWS = 500;
/** Rows of message_reaction that one page looks at: where fewer of them are shown than were asked for, it ends short. */
export const REACTOR_ROWS_MAX = 4_000;
/** Reads of message_reaction under way at once, one user's own among them; further ones wait. */
export const REACTOR_READS_MAX = 32;
/** Look-ups by message_id under way at once, for administration only (R2.2); beyond it → OVERLOADED (503). */
export const LOOKUPS_MAX = 8;

/** Batches in flight at once; beyond it → OVERLOADED (503). PUSH_EVENTS may use all, MAILBOX_BATCH all but the reserve. */
export const BATCHES_MAX = 1_024;
/** Batches that MAILBOX_BATCH leaves free, so that backlogs never starve live delivery. */
export const BATCHES_PUSH_RESERVE = 256;
/** Bytes of responses not yet taken by their readers, in all; beyond it → OVERLOADED (503) (B21). */
export const RESPONSE_BYTES_IN_FLIGHT_MAX = 512 * MIB;

/** Default size of the shared region. */
export const REGION_BYTES_DEFAULT = 256 * MIB;
/** Smallest region that works at all. */
export const REGION_BYTES_MIN = 64 * KIB;
/** How long a cached body may be served without being read again, whatever its TTL: the bound on staleness without a log. */
export const CACHE_AGE_MS_MAX_DEFAULT = 60_000;
/** Installed revision floors; when full, caching pauses (nothing new is published) until one goes. */
export const FLOORS_MAX = 100_000;
/** How long a floor lasts when no body at or above it is published: the row has changed by then, or recovery tells of it again (D17). */
export const FLOOR_AGE_MS_MAX_DEFAULT = 60_000;
/** How long a recall's floor lasts when its row does not show it: time for a recovery run after a writer's crash (D17). */
export const RECALL_FLOOR_AGE_MS_MAX = 3_600_000;
/** How long readers in other threads and processes may use the region after the writer's last sign of life. */
export const REGION_LEASE_MS_DEFAULT = 3_000;

/** Payload bytes sealed or opened as one message; larger ones are refused when written (B50) and TAMPERED when read. */
export const PAYLOAD_BYTES_MAX = 16 * MIB;
/** A thumbnail inside media_metadata (R5.3). */
export const THUMBNAIL_BYTES_MAX = 32 * KIB;
/** Opened DEKs kept. */
export const DEK_CACHE_ENTRIES_MAX = 10_000;
/** How long an opened DEK is kept (R6.2, dek_cache_ttl). */
export const DEK_CACHE_TTL_MS_DEFAULT = 300_000;
/**
 * How long after its making a rotated version is used: by then no process remembers the versions without it (they are
 * kept for DEK_CACHE_TTL_MS_DEFAULT), with a minute for clocks that differ. So every process, whenever it asks, names
 * the same version for the same time, and a retry seals under the version of the first attempt.
 */
export const KEY_SETTLE_MS = DEK_CACHE_TTL_MS_DEFAULT + 60_000;
/** DEKs asked of the provider in one unwrap call; more are split. */
export const UNWRAP_BATCH_MAX = 100;
/** Time for one unwrap call before it counts as failed (→ UNAVAILABLE, not cached). */
export const UNWRAP_TIMEOUT_MS_DEFAULT = 2_000;
/** How often a running process looks for keys destroyed by others: the stated time of a purge. */
export const KEY_POLL_MS_DEFAULT = 2_000;
/** Group jobs at or below both bounds are opened on the main thread: above, a worker frees more of its time than it adds latency (bench/open-threshold.ts). */
export const INLINE_OPEN_ITEMS_MAX = 8;
export const INLINE_OPEN_BYTES_MAX = 16 * KIB;
/** Sealed bytes with the workers at once; further jobs wait in order (B31). */
export const OPEN_BYTES_IN_FLIGHT_MAX = 64 * MIB;

/** The largest TTL that CQL takes: 20 years in seconds (D8). */
export const TTL_SECONDS_MAX = 630_720_000;
/** How long client_dedup remembers a client_message_id (R2): a retry after that makes a new message. */
export const DEDUP_TTL_SECONDS = 7_200;
/** Attempts to reserve a window of seqs while others reserve the same conversation's; then → STORE_UNAVAILABLE. */
export const WINDOW_ATTEMPTS_MAX = 32;

/** Bytes of request bodies held in all, from their first chunk until their batch settled; beyond it → OVERLOADED (503). */
export const REQUEST_BYTES_IN_FLIGHT_MAX = 256 * MIB;
/** Response bytes that a batch is counted with for each of its entries until its response's size is known. */
export const RESPONSE_ENTRY_BYTES_EXPECTED = 4 * KIB;
/** A response that its reader has not taken whole by then is dropped with its connection (B21). */
export const RESPONSE_DRAIN_MS_MAX = 30_000;
/** When an OVERLOADED or SHUTTING_DOWN answer tells its caller to ask again. */
export const RETRY_AFTER_MS = 250;
/** How long one look at the store serves /readyz. */
export const READY_CACHE_MS = 1_000;
/** Time for that look; longer counts as not ready. */
export const READY_TIMEOUT_MS = 2_000;
/** How long a stop waits for batches in flight. */
export const SHUTDOWN_MS_DEFAULT = 10_000;
/** Bytes of a Unix socket path on Linux (sun_path without its final 0). */
export const SOCKET_PATH_BYTES_MAX = 107;

/** Connections of one client, and so its requests under way at once; further requests wait. */
export const CLIENT_CONNECTIONS_DEFAULT = 8;
/** The most that a client may be told to open. */
export const CLIENT_CONNECTIONS_MAX = 256;
/** Requests of one client that wait for a connection; beyond it → OVERLOADED, without a round trip. */
export const CLIENT_WAITING_MAX = 4_096;
/** What a client waits beyond the sidecar's deadline, so that partial results still arrive (→ CLIENT_TIMEOUT). */
export const CLIENT_GRACE_MS = 500;
/** Bytes of a response's status line and headers; more → CLIENT_PROTOCOL. */
export const CLIENT_HEAD_BYTES_MAX = 8 * KIB;
/** Size of the buffer that each connection reads into; what is longer is read into the response's own buffer. */
export const CLIENT_READ_BYTES = 64 * KIB;
/** A connection keeps the buffer that its requests are encoded in up to this size. */
export const CLIENT_REQUEST_BYTES_KEPT = 256 * KIB;
/** Bytes of a response: the bodies, one body that is always sent, and the results around them; more → CLIENT_PROTOCOL. */
export const CLIENT_RESPONSE_BYTES_MAX = RESPONSE_BYTES_MAX + PAYLOAD_BYTES_MAX + 2 * MIB;
/** Rounds of one join that asks again for what was DEFERRED, the first included. */
export const CLIENT_ROUNDS_DEFAULT = 16;
/** The longest wait between two attempts, whatever hint the sidecar gives. */
export const CLIENT_RETRY_MS_MAX = 5_000;

/** Bytes of one record of the log: the largest payload with the rest of its row; more → RECORD_TOO_LARGE, alone (B50). */
export const LOG_RECORD_BYTES_MAX = PAYLOAD_BYTES_MAX + MIB;
/** Records that wait to be appended; more → LOG_UNAVAILABLE. */
export const LOG_WAITING_RECORDS_MAX = 16_384;
/** Bytes of records that wait to be appended; more → LOG_UNAVAILABLE. */
export const LOG_WAITING_BYTES_MAX = 128 * MIB;
/** Records handed to a reader's handler at once. */
export const LOG_PAGE_RECORDS_MAX = 1_000;
/** Bytes handed to a reader's handler at once, beyond the first record. */
export const LOG_PAGE_BYTES_MAX = 8 * MIB;
/** Bytes of one append request beyond its first record: what waits goes together up to here (group commit). */
export const LOG_REQUEST_BYTES_MAX = MIB;
/** How long an append, or a read that has an end, waits for a log that does not answer; then LOG_UNAVAILABLE. */
export const LOG_TIMEOUT_MS_DEFAULT = 10_000;
/** How long the embedded log keeps a record at least; a reader that is further behind misses what is gone. */
export const EMBEDDED_LOG_AGE_MS = 7 * 86_400_000;
/** How far behind the log a sidecar may be: beyond it the cache is dropped, and bodies are cached for this long only. */
export const FOLLOW_LAG_MS_MAX_DEFAULT = 5_000;
/** After a start or a gap in the log: time for rows to show the events that were missed, and for clocks to differ by. */
export const FOLLOW_SETTLE_MS = 10_000;
/** How often a follower that lost the log tries again, and how often at most it asks where the log ends. */
export const FOLLOW_RETRY_MS = 500;
export const FOLLOW_PROBE_MS_MAX = 1_000;
/** Records of the log applied in one tick, so that joins never wait for many. */
export const FOLLOW_TICK_RECORDS = 64;

/** Conversations that count as in use on a node; the least recently used goes. */
export const CONVERSATIONS_IN_USE_MAX = 20_000;
/** How long a conversation counts as in use after a join asked for one of its messages. */
export const CONVERSATION_IN_USE_MS = 600_000;
/** Messages of the log that wait to be placed into the cache, and their bytes; beyond it they are left out, and read when asked for. */
export const WARM_WAITING_RECORDS_MAX = 1_024;
export const WARM_WAITING_BYTES_MAX = 16 * MIB;
/** Messages placed into the cache in one tick. */
export const WARM_TICK_RECORDS = INLINE_OPEN_ITEMS_MAX;
/** A message older than this is not warmed: a record that old is a repetition, or the follower is catching up. */
export const WARM_AGE_MS_MAX = 30_000;
/** Messages whose latest events are remembered, so that a repeated record does not undo them. */
export const WARM_CHANGED_MAX = 100_000;

/** Seqs that a writer reserves at once: one bucket's worth; what a crash leaves of them is a hole. */
export const SEQ_WINDOW = BUCKET_WIDTH;
/** A window from which no seq was taken for so long goes on only if nobody has reserved one above it. */
export const SEQ_WINDOW_IDLE_MS = 300_000;
/** Conversations whose windows a writer keeps; the least recently used leaves a hole. */
export const ALLOCATOR_CONVERSATIONS_MAX = 100_000;
/** Messages of one conversation that wait for a window; beyond it → OVERLOADED (503). */
export const ALLOCATION_WAITERS_MAX = 16_384;
/** A tenant's retention where nothing else is configured (R3.1): 30 days. */
export const RETENTION_SECONDS_DEFAULT = 2_592_000;
/** retention_class ephemeral_24h (R3.1). */
export const EPHEMERAL_SECONDS = 86_400;
/** Bytes of a client_message_id in UTF-8: it stands in a partition key; longer → MESSAGE_INVALID. */
export const CLIENT_MESSAGE_ID_BYTES_MAX = 255;
/** Bytes of a custom_type in UTF-8; longer → MESSAGE_INVALID. */
export const CUSTOM_TYPE_BYTES_MAX = 255;
/** Bytes of a preview's text; longer → MESSAGE_TOO_LARGE. */
export const PREVIEW_BYTES_MAX = 4 * KIB;
/** Users that one message mentions by name; more → MESSAGE_INVALID. */
export const MENTIONS_MAX = 4_096;
/** What a log record has beside the message's own bytes at most: ids, numbers, tags, the key's names, the envelope. */
export const LOG_RECORD_OVERHEAD_BYTES = KIB;
/** Conversations whose head waits to be written; beyond it the update is dropped and counted: the head lags until the conversation's next. */
export const HEADS_PENDING_MAX = 20_000;
/** Heads being written at once; further ones wait in order. */
export const HEADS_IN_FLIGHT_MAX = 64;
/** Conversations whose head's epoch a writer remembers; a forgotten one is taken over anew. */
export const HEADS_OWNED_MAX = 100_000;
/** Take-overs of one conversation in one attempt to write its head; then → STORE_UNAVAILABLE, and tried again later. */
export const HEAD_TAKE_OVERS_MAX = 8;
/** Wait before a head write is tried again: doubled each time, up to the second. */
export const HEAD_RETRY_MS = { first: 50, max: 5_000 } as const;
/** Failed attempts after which a head that is still not written raises an alert (R5.1 step 7). */
export const HEAD_ALERT_ATTEMPTS = 5;
/** Times that a row's change is written while others change the same row; then → STORE_UNAVAILABLE. */
export const ROW_ATTEMPTS_MAX = 8;
/** Distinct reactions shown on one message (R2.4: dozens); a further one → REACTION_KEYS_FULL. */
export const REACTION_KEYS_MAX = 64;
/** Bytes of a reaction's key in UTF-8; longer → REACTION_INVALID. */
export const REACTION_KEY_BYTES_MAX = 64;
/** Times that a message's reactions are counted while other processes change them; then → STORE_UNAVAILABLE. */
export const REACTION_ROUNDS_MAX = 16;
/** Messages whose reactions are being counted at once; beyond it → OVERLOADED (503). */
export const REACTION_ROUNDS_IN_FLIGHT_MAX = 10_000;
/** Rows that an archiver writes at once; further ones of its batch wait. */
export const ARCHIVE_WRITES_IN_FLIGHT_MAX = 64;
/** Wait before an archiver tries a failed write again: doubled each time, up to the second; it never gives up. */
export const ARCHIVE_RETRY_MS = { first: 100, max: 10_000 } as const;
/** Bytes in UTF-8 of a consumer group's name that an archiver takes; it becomes part of keys in stores and logs. */
export const LOG_GROUP_BYTES_MAX = 255;
/** Bytes of a file of records that are compared at once with what a former run did of it. */
export const RECORD_FILE_CHECK_BYTES = MIB;
/** Bytes of a parked record that its line in the parking file repeats; of a larger one only place, size and hash. */
export const PARKED_VALUE_BYTES_MAX = 64 * KIB;
/** Bytes of a parking file; when it is full, further records are counted and logged, and not kept. */
export const PARKING_FILE_BYTES_MAX = 64 * MIB;
/** Bytes of a row that an archiver writes to Cassandra or ScyllaDB: below the 16 MiB that they take in one mutation. */
export const CQL_ROW_BYTES_MAX = 16 * MIB - 64 * KIB;
/** Heads that an advancer lists at once; its checkpoint is saved after each such page. */
export const ADVANCE_PAGE_HEADS = 100;
/** Conversations whose E is looked for at once. */
export const ADVANCE_IN_FLIGHT_MAX = 8;
/** Conversations that one run of the advancer looks at unless it is told otherwise; the next run goes on there. */
export const ADVANCE_CONVERSATIONS_DEFAULT = 100_000;
/** Buckets that a run reads of one conversation; the next run goes on behind them. */
export const ADVANCE_BUCKETS_MAX = 64;
/** How old a seq must be before its absence counts: it may still be on its way from the log into the store. */
export const ADVANCE_SETTLE_MS_DEFAULT = 3_600_000;
/** Rows that `capacity` samples unless it is told otherwise, and at most. */
export const SAMPLE_ROWS_DEFAULT = 5_000;
export const SAMPLE_ROWS_MAX = 100_000;
/** Rounds that `calibrate` makes unless it is told otherwise, at least, and at most. */
export const CALIBRATE_ROUNDS_DEFAULT = 40;
export const CALIBRATE_ROUNDS_MIN = 3;
export const CALIBRATE_ROUNDS_MAX = 10_000;
/** How long it measures unless it is told otherwise, and at most: the rows that it wrote must outlast it. */
export const CALIBRATE_SECONDS_DEFAULT = 90;
export const CALIBRATE_SECONDS_MAX = 2_400;
/** How long the rows live that it writes. */
export const CALIBRATE_TTL_SECONDS = 3_600;
/** Sizes of rows that it measures, a full bucket of each, and bytes of the largest payload. */
export const CALIBRATE_ROW_SIZES_MAX = 4;
export const CALIBRATE_ROW_BYTES_MAX = 32 * KIB;
/** Rows that it writes at once. */
export const CALIBRATE_WRITES_IN_FLIGHT_MAX = 128;
/** Reads in a row, or attempts of one write, whose failure ends it. */
export const CALIBRATE_FAILURES_MAX = 3;
/** Places that it tries for one read whose rows came or went; then this read is left out. */
export const CALIBRATE_PLACES_MAX = 3;
/** Of an existing store: heads listed, buckets read to see how full they are, and full ones measured on. */
export const CALIBRATE_HEADS_MAX = 2_000;
export const CALIBRATE_BUCKETS_READ_MAX = 64;
export const CALIBRATE_SITES_MAX = 16;
/** Bytes of content after which a bucket is read no further, and of one read of it, about: rows may be of any size. */
export const CALIBRATE_BUCKET_BYTES_MAX = 64 * MIB;
export const CALIBRATE_READ_BYTES = 4 * MIB;
/** Bytes of a file that a setting names and a start reads whole: passwords, certificates, retention of many tenants. */
export const SETTINGS_FILE_BYTES_MAX = 64 * MIB;
/** Bytes of the file that `calibrate` writes and `serve` reads; a larger one is none. */
export const READ_COSTS_FILE_BYTES_MAX = MIB;
/** Each cost in it, in microseconds: no read lasts a quarter of an hour, and sums of them stay whole numbers. */
export const READ_COST_MICROS_MAX = 1_000_000_000;
/** Bytes of JSON that a writing command takes at once; more → MESSAGE_TOO_LARGE, nothing written. */
export const INPUT_BYTES_MAX = 64 * MIB;
/** Conversations that a writing command works on at once; one conversation's items are done one after the other. */
export const INPUT_CONVERSATIONS_IN_FLIGHT = 16;
/** Failures in a row for want of store, log or keys after which a writing command leaves the rest untried. */
export const INPUT_FAILURES_MAX = 20;
/** How long a writing process that ends waits for the heads that are not written yet. */
export const HEADS_CLOSE_MS = 10_000;

assert(BATCHES_PUSH_RESERVE < BATCHES_MAX);
assert(HISTORY_LIMIT_MAX < HISTORY_READ_ROWS_MAX && HISTORY_READ_ROWS_MAX <= PARTITION_ROWS_MAX);
assert(REACTORS_LIMIT_MAX < REACTOR_READ_ROWS && REACTOR_READ_ROWS < REACTOR_ROWS_MAX);
assert(LOOKUPS_MAX < BATCHES_MAX - BATCHES_PUSH_RESERVE);
// A window may be gone on with so long after a seq of it was taken, and a commit lasts: absence must not count by then.
assert(2 * SEQ_WINDOW_IDLE_MS < ADVANCE_SETTLE_MS_DEFAULT);
// A page's rows may come to be cached until its deadline: the floors that keep old ones out last as long.
assert(FLOOR_AGE_MS_MAX_DEFAULT >= DEADLINE_MS_MAX);
assert(HISTORY_EMPTY_ABOVE_HEAD < HISTORY_MAX_EMPTY_BUCKET_SCAN);
assert(GROUP_READS_PUSH_RESERVE < GROUP_READS_MAX);
assert(FLIGHTS_PUSH_RESERVE < FLIGHTS_MAX);
assert(LOG_RECORD_BYTES_MAX <= LOG_WAITING_BYTES_MAX);
assert(RESPONSE_BYTES_DEFAULT <= RESPONSE_BYTES_MAX);
assert(RESPONSE_BYTES_MAX <= RESPONSE_BYTES_IN_FLIGHT_MAX);
assert(REQUEST_BYTES_MAX <= REQUEST_BYTES_IN_FLIGHT_MAX);
assert(DEADLINE_MS_DEFAULT.MAILBOX_BATCH <= DEADLINE_MS_MAX);
assert(INLINE_OPEN_BYTES_MAX <= OPEN_BYTES_IN_FLIGHT_MAX);
assert(PAYLOAD_BYTES_MAX <= OPEN_BYTES_IN_FLIGHT_MAX);
assert(IN_CAP_DEFAULT <= PARTITION_ROWS_MAX);
// A plan's cost: as many statements, rows and elements as a bucket has seqs, at most.
assert(Number.isSafeInteger(READ_COST_MICROS_MAX * 3 * PARTITION_ROWS_MAX));
assert(CALIBRATE_SECONDS_DEFAULT <= CALIBRATE_SECONDS_MAX && CALIBRATE_SECONDS_MAX < CALIBRATE_TTL_SECONDS);
assert(EPHEMERAL_SECONDS <= TTL_SECONDS_MAX && RETENTION_SECONDS_DEFAULT <= TTL_SECONDS_MAX);
assert(CLIENT_HEAD_BYTES_MAX <= CLIENT_READ_BYTES);
assert(CLIENT_CONNECTIONS_DEFAULT <= CLIENT_CONNECTIONS_MAX);
