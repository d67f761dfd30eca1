/** Runs a task for each item, a bounded number at once. After a failure no further one is started, and the first is thrown. */
export async function boundedParallel<T>(
  items: readonly T[],
  width: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const item = items[next++] as T; // below the length, read before the index rises
      try {
        await task(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  // All lanes are waited for: nothing of a batch is under way any more when its failure is told.
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, lane));
  const failure = lanes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}
