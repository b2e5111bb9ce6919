import { setTimeout as sleep } from 'node:timers/promises';

export interface RefreshingOptions {
  /** Returns the lines to show. */
  readonly look: () => Promise<readonly string[]>;
  /** Whether an error may pass; others end the command. */
  readonly isPassing: (error: unknown) => boolean;
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
  /** In milliseconds. */
  readonly interval?: number;
  readonly signal?: AbortSignal;
}

/** Clears the screen, and puts the cursor at its beginning. */
const clear = '\u001b[H\u001b[2J';

/** Shows lines again and again, for as long as the user likes. On a terminal they replace the former ones. */
export async function refresh({ look, isPassing, isTerminal, write, interval = 2_000, signal }: RefreshingOptions): Promise<void> {
  for (let isFirst = true; signal?.aborted !== true; isFirst = false) {
    let lines: readonly string[];
    try {
      lines = await look();
    } catch (error) {
      if (!isPassing(error)) throw error;
      lines = [error instanceof Error ? error.message : String(error)];
    }
    const separator = isTerminal ? clear : isFirst ? '' : '\n';
    write(`${separator}${lines.join('\n')}\n`);
    await sleep(interval, undefined, signal && { signal }).catch(() => {});
  }
}
