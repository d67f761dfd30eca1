// What every bench of this folder shares: a bound on its time, and a clean end.
/**
 * Runs a bench within its time, then everything that it registered to be stopped, and ends the process: not left to the
 * event loop, since a run that was cut off by its limit may still be starting something.
 */
export async function runBounded(bench, stops, limitMs) {
  const limit = new Promise((_, reject) => {
    setTimeout(reject, limitMs, new Error(`the bench took longer than ${limitMs / 1000} s`)).unref();
  });
  let exitCode = 0;
  try {
    await Promise.race([bench(), limit]);
  } catch (error) {
    console.error(error);
    exitCode = 1;
  }
  for (const stop of stops.reverse()) await stop();
  process.exit(exitCode);
}
