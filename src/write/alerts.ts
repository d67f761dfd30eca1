/** What the write side wants somebody to look at. Each is counted by its name; none stops an operation. */
export type WriteAlert =
  /** A row's retention class or tenant_custom policy is not known: it is kept without expiry (R3.1). */
  | 'RETENTION_UNKNOWN'
  /** A head update would have moved latest_conversation_seq back and was dropped (R5.2). */
  | 'HEAD_BACKWARD'
  /** A head is still not written after several attempts; they go on (R5.1 step 7). */
  | 'HEAD_DELAYED'
  /** Too many heads wait, or their owner was closed or fenced: an update was dropped and the head lags. */
  | 'HEAD_DROPPED';

export type AlertListener = (alert: WriteAlert) => void;
