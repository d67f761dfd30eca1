/** What keeps a start from going on, each with the setting that it is about: all of it is told at once, exit code 2. */
import { MailjoinError } from '../domain/errors.js';

export interface Problem {
  readonly setting: string;
  /** Where the value came from, as its user wrote it there. */
  readonly source: string;
  readonly reason: string;
}

/** CONFIG_INVALID with all that was wrong, one line each. */
export class SettingsError extends MailjoinError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super('CONFIG_INVALID', `\n${problems.map(problemLine).join('\n')}`);
    this.problems = problems;
  }
}

function problemLine({ setting, source, reason }: Problem): string {
  return `  ${setting} (${source}): ${reason}`;
}
