/** The machine's clocks. */
import type { Clock } from '../domain/ports.js';

export const systemClock: Clock = {
  nowMs: () => Number(process.hrtime.bigint()) / 1_000_000,
  epochMs: () => Date.now(),
};
