/**
 * A person at a terminal, asked for one key at a time. The terminal is in raw mode only while it waits for the key, and
 * left as it was whichever way the waiting ends; so Ctrl-C is a signal at all other times. Owner: the main thread.
 */

/** What is used of standard input. */
export interface KeyInput {
  readonly isTTY?: boolean | undefined;
  setRawMode?(raw: boolean): unknown;
  resume(): unknown;
  pause(): unknown;
  on(event: 'data' | 'end' | 'error', listener: (chunk: Uint8Array) => void): unknown;
  removeListener(event: 'data' | 'end' | 'error', listener: (chunk: Uint8Array) => void): unknown;
}

/** What is used of standard output. */
export interface ScreenOutput {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface Terminal {
  readonly columns: number;
  /**
   * Shows a line, waits for a key, and takes the line away. True: go on; false: quit, Ctrl-C, the end, the signal, or a
   * terminal that is gone.
   */
  askToGoOn(line: string, signal: AbortSignal): Promise<boolean>;
}

const COLUMNS_DEFAULT = 80;
const ESCAPE = 0x1b;
const GO_ON = new Set([' ', '\r', '\n']);
// Escape is not among them: arrow and function keys begin with it too.
const QUIT = new Set(['q', 'Q', '\u0003', '\u0004']);

/** Undefined unless both ends are a terminal. */
export function terminalOf(input: KeyInput, output: ScreenOutput): Terminal | undefined {
  if (input.isTTY !== true || output.isTTY !== true) return undefined;
  const columns = () => output.columns || COLUMNS_DEFAULT;
  const ahead: number[] = [];
  return {
    get columns() {
      return columns();
    },
    askToGoOn: async (line, signal) => {
      try {
        return await goOn(input, ahead, signal, () => {
          // One column is left free: a full line would move some terminals to the next.
          output.write([...line].slice(0, columns() - 1).join(''));
        });
      } finally {
        output.write('\r\u001b[K');
      }
    },
  };
}

/** `ahead`: keys that came with an earlier one, and were not for that prompt. */
async function goOn(
  input: KeyInput,
  ahead: number[],
  signal: AbortSignal,
  ask: () => void,
): Promise<boolean> {
  let settle: (goesOn: boolean) => void = () => undefined;
  const answer = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  const takeNext = (): void => {
    while (ahead.length > 0) {
      const key = String.fromCharCode(ahead.shift() ?? 0);
      if (!GO_ON.has(key) && !QUIT.has(key)) continue;
      settle(GO_ON.has(key));
      return;
    }
  };
  const onData = (chunk: Uint8Array): void => {
    // Arrow and function keys, and those with Alt, come as one chunk behind an escape.
    if (chunk[0] === ESCAPE) return;
    ahead.push(...chunk);
    takeNext();
  };
  const quit = (): void => settle(false);
  if (signal.aborted) return false;
  input.on('data', onData);
  input.on('end', quit);
  input.on('error', quit);
  signal.addEventListener('abort', quit);
  try {
    input.setRawMode?.(true);
    input.resume();
    // Not before: a key that answers at once would be echoed.
    ask();
    takeNext();
    return await answer;
  } finally {
    input.setRawMode?.(false);
    input.pause();
    input.removeListener('data', onData);
    input.removeListener('end', quit);
    // Last of the input's: a terminal that is gone fails at leaving raw mode as well.
    input.removeListener('error', quit);
    signal.removeEventListener('abort', quit);
  }
}
