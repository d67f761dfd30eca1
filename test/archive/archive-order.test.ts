/** Any order of the log's records gives the same rows: on the embedded store. */
import { expect, it } from 'vitest';
import { openFor, SetClock, temporaryDirectory } from '../embedded/embedded-fixtures.js';
import { holdsInAnyOrder } from './archive-order.js';

it('D14 R3.3: any interleaving and repetition of the log gives the rows of the log’s order', {
  timeout: 120_000,
}, async () => {
  const clock = new SetClock();
  const { store, writes } = await openFor(temporaryDirectory(), clock);
  await holdsInAnyOrder({ messages: store, writes, clock }, { runs: 40, ttlStepS: 1 });
  expect.hasAssertions();
});
