/** History on the embedded store. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { historyContract } from './history-contract.js';
import { historyWorld } from './history-fixtures.js';
import { checkConversation, conversations } from './history-model.js';
import { openEmbeddedHistory } from './open-embedded-history.js';

const RUNS = 100;

historyContract('embedded', openEmbeddedHistory);

it('every visible message exactly once and in order, whatever holes, heads, anchors, limits and directions', async () => {
  const { stores, close } = await openEmbeddedHistory();
  const world = historyWorld(stores);
  try {
    const property = fc.asyncProperty(conversations, (shape) => checkConversation(world, stores, shape));
    await fc.assert(property, { numRuns: RUNS });
  } finally {
    await close();
  }
  // The model met holes, or it has shown little.
  expect(world.alerts.length).toBeGreaterThan(0);
}, 120_000);
