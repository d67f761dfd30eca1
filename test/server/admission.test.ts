import { afterEach, describe, expect, it } from 'vitest';
import { RequestKind } from '../../src/domain/entries.js';
import { MailjoinError } from '../../src/domain/errors.js';
import { BATCHES_MAX, BATCHES_PUSH_RESERVE } from '../../src/domain/limits.js';
import { ADMISSION_DEFAULT, Admission, admissionFor } from '../../src/server/admission.js';
import {
  exchange,
  type Fixture,
  joinRequest,
  protobufRequest,
  RawClient,
  startServer,
  until,
} from './server-fixture.js';

const small = { ...ADMISSION_DEFAULT, batchesMax: 3, batchesPushReserve: 1, responseBytesMax: 100_000 };

function codeOf(step: () => unknown): string {
  try {
    step();
  } catch (error) {
    if (error instanceof MailjoinError) return error.code;
    throw error;
  }
  return 'OK';
}

describe('admission', () => {
  it('refuses backlogs at the reserve and live delivery at the maximum', () => {
    const admission = new Admission(small);
    admission.admit(RequestKind.MAILBOX_BATCH, 1, 1000);
    admission.admit(RequestKind.MAILBOX_BATCH, 1, 1000);
    expect(codeOf(() => admission.admit(RequestKind.MAILBOX_BATCH, 1, 1000))).toBe('OVERLOADED');
    expect(codeOf(() => admission.admit(RequestKind.PUSH_EVENTS, 1, 1000))).toBe('OK');
    expect(codeOf(() => admission.admit(RequestKind.PUSH_EVENTS, 1, 1000))).toBe('OVERLOADED');
  });

  it('counts a batch with what its entries are expected to bring, then with what it holds', () => {
    const admission = new Admission(small);
    const expected = admission.admit(RequestKind.MAILBOX_BATCH, 2, 1_000_000);
    expect(admission.responseBytes).toBe(expected);
    expect(admission.tryHold(expected, 90_000)).toBe(true);
    expect(admission.responseBytes).toBe(90_000);
    expect(codeOf(() => admission.admit(RequestKind.PUSH_EVENTS, 3, 1_000_000))).toBe('OVERLOADED');
    admission.release(90_000);
    expect([admission.batches, admission.responseBytes]).toEqual([0, 0]);
  });

  it('refuses a response that turns out too large, and the batch can still be released', () => {
    const admission = new Admission(small);
    const expected = admission.admit(RequestKind.MAILBOX_BATCH, 1, 1_000_000);
    expect(admission.tryHold(expected, 100_001)).toBe(false);
    expect(admission.responseBytes).toBe(expected);
    admission.release(expected);
    expect(admission.responseBytes).toBe(0);
  });

  it('refuses request bytes beyond the bound', () => {
    const admission = new Admission({ ...small, requestBytesMax: 10 });
    admission.addRequestBytes(10);
    expect(codeOf(() => admission.addRequestBytes(1))).toBe('OVERLOADED');
    admission.releaseRequestBytes(10);
    expect(codeOf(() => admission.addRequestBytes(1))).toBe('OK');
  });

  it('keeps the share of the reserve for another number of batches', () => {
    expect(admissionFor(BATCHES_MAX).batchesPushReserve).toBe(BATCHES_PUSH_RESERVE);
    expect(admissionFor(8).batchesPushReserve).toBe(2);
    expect(admissionFor(1).batchesPushReserve).toBe(0);
  });
});

describe('admission over the socket', () => {
  let fixture: Fixture;
  afterEach(() => fixture.close());

  it('a batch beyond the maximum → 503 with Retry-After and retry_after_ms; live delivery still passes', async () => {
    fixture = await startServer({ limits: { batchesMax: 3, batchesPushReserve: 1 } });
    fixture.join.hold = true;
    const held: RawClient[] = [];
    for (let count = 0; count < 2; count++) {
      const client = await RawClient.open(fixture.socketPath);
      await client.send(joinRequest(protobufRequest()));
      held.push(client);
    }
    await fixture.join.begun(2);
    const refused = await exchange(
      fixture.socketPath,
      joinRequest(protobufRequest(), 'application/x-protobuf', 'Accept: application/json'),
    );
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    const error = JSON.parse(refused.body.toString());
    expect(error.code).toBe('OVERLOADED');
    expect(error.retry_after_ms).toBeGreaterThan(0);
    const push = await RawClient.open(fixture.socketPath);
    await push.send(joinRequest(protobufRequest({ kind: RequestKind.PUSH_EVENTS })));
    await fixture.join.begun(3);
    fixture.join.release();
    for (const client of [...held, push]) {
      expect((await client.response()).status).toBe(200);
      client.destroy();
    }
    await until(() => fixture.admission.batches === 0, 'all batches are released');
  });
});
