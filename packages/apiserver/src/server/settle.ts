import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How long nothing must have happened. */
const quiet = 1_500;

/**
 * Gives back the memory that starting took, once, when the server has nothing to do: what was parsed and compiled only to start is a tenth of all it holds.
 * It stops the process for a moment, so it waits for one in which nobody notices.
 */
export function settleMemory(requests: () => number, signal: AbortSignal): void {
  let seen = requests();
  const timer = setInterval(() => {
    const now = requests();
    if (now !== seen) {
      seen = now;
      return;
    }
    clearInterval(timer);
    collect();
  }, quiet);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

function collect(): void {
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
