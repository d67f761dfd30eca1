/**
 * Crypto-erasure as the program does it (R3.2, D12): first the key itself, then its record in the log, so that a sidecar
 * that hears of it finds the marker. A record that could not be appended is no failure of the destruction: whoever does
 * not hear of it from the log finds the marker at its next poll. Repeatable.
 */
import { createHash } from 'node:crypto';
import { encodeLogRecord } from '../codec/log-record.js';
import type { KeyAdmin } from '../crypto/key-admin.js';
import { MailjoinError } from '../domain/errors.js';
import { ID_BYTES } from '../domain/ids.js';
import type { DekId } from '../domain/message.js';
import type { Clock } from '../domain/ports.js';
import type { Outbox } from '../domain/write-ports.js';

export interface KeyDestroyer {
  readonly keys: Pick<KeyAdmin, 'destroy'>;
  readonly outbox: Pick<Outbox, 'append'>;
  readonly clock: Pick<Clock, 'epochMs'>;
}

/** Resolves to the error that kept the log from being told, if any. Fails with KEY_UNKNOWN or STORE_*. */
export async function destroyKey(
  { keys, outbox, clock }: KeyDestroyer,
  dekId: DekId,
): Promise<MailjoinError | undefined> {
  await keys.destroy(dekId);
  const appendedAtMs = BigInt(Math.floor(clock.epochMs()));
  // Records of one scope keep their order (log.proto).
  const key = createHash('sha256').update(dekId.scope).digest().subarray(0, ID_BYTES);
  try {
    await outbox.append({ key, value: encodeLogRecord({ kind: 'keyDestroyed', appendedAtMs, dekId }) });
    return undefined;
  } catch (error) {
    if (error instanceof MailjoinError) return error;
    throw error;
  }
}
