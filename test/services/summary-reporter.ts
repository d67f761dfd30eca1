/**
 * Ends a run with the list of what was skipped, and why, so that a skip is never silent; with CI=true a skip makes the
 * run fail (except when the run was narrowed to some test names). MAILJOIN_TEST_TOTALS=path writes the totals there
 * as JSON {passed, failed, skipped} for .ci/run. A file or group that fails outside its tests (an import, a hook)
 * counts as one failure, so does an error that no test caught.
 */
import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

export default class SummaryReporter implements Reporter {
  #narrowed = false;

  onInit(vitest: Vitest): void {
    this.#narrowed = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    let failed = unhandled.length;
    const skips: string[] = [];
    for (const module of modules) {
      failed += module.errors().length > 0 ? 1 : 0;
      for (const suite of module.children.allSuites()) failed += suite.errors().length > 0 ? 1 : 0;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') passed++;
        else if (result.state === 'failed') failed++;
        else {
          const note = result.state === 'skipped' ? (result.note ?? 'no reason given') : 'it never ran';
          skips.push(
            `${module.relativeModuleId} > ${test.fullName}\n      ${note.replaceAll('\n', '\n      ')}`,
          );
        }
      }
    }
    if (skips.length > 0 && !this.#narrowed) {
      console.log(`\nSKIPPED: ${skips.length}\n  - ${skips.join('\n  - ')}\n`);
      if (process.env.CI === 'true') {
        console.log('CI=true: a skipped test makes the run fail.');
        process.exitCode = 1;
      }
    }
    const path = process.env.MAILJOIN_TEST_TOTALS;
    if (path !== undefined) writeFileSync(path, JSON.stringify({ passed, failed, skipped: skips.length }));
  }
}
