/**
 * Delays, passed in so that tests own them. The system's timers never keep a process alive.
 */

/** Runs `task` once after the delay; the answer takes it back. */
export interface Scheduler {
  after(delayMs: number, task: () => void): () => void;
}

export const systemScheduler: Scheduler = {
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
