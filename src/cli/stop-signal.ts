/** SIGTERM and SIGINT as commands meet them: the first asks for a clean stop, a second one ends the process at once. */
import { ExitCode } from './command.js';

export interface StopSignal {
  /** Resolves at the first signal. */
  readonly received: Promise<NodeJS.Signals>;
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** Leaves signals to the process again. */
  release(): void;
}

const NAMES = ['SIGTERM', 'SIGINT'] as const;

export function stopSignal(): StopSignal {
  const stop = new AbortController();
  let resolveReceived: (signal: NodeJS.Signals) => void = () => undefined;
  const received = new Promise<NodeJS.Signals>((resolve) => {
    resolveReceived = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(ExitCode.FAILED);
    stop.abort();
    resolveReceived(signal);
  };
  for (const name of NAMES) process.on(name, onSignal);
  return {
    received,
    signal: stop.signal,
    release: () => {
      for (const name of NAMES) process.removeListener(name, onSignal);
    },
  };
}
