import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { residentMemory } from './memory.ts';

/** How often to check, in milliseconds, and the share of that time for which the process may be busy. */
const interval = 1_500;
const quiet = 0.1;
/** After this many quiet intervals the work is considered over, and the code compiled for it may be dropped. */
const rest = 20;

/**
 * Memory is left alone unless it has grown by a quarter plus 32 MiB, or the process has worked for this many milliseconds since,
 * after which much may have been deleted.
 */
const growth = 1.25;
const least = 32 << 20;
const work = 20_000;
/** Above this growth in bytes, reclaiming memory matters more than keeping compiled code. */
const much = 256 << 20;
/** The engine drops compiled code that was not used for this many collections: most startup code never runs again. */
const rounds = 8;
/** In milliseconds, between two of them: a request passes through the event loop several times until it is answered, and should not meet one each time. */
const pause = 100;

/**
 * Returns memory to the system when the process is idle: memory needed only for startup, about a tenth of the total, and memory
 * of objects deleted since. The engine would otherwise keep it for reuse. Collection pauses the process, so it waits for a moment
 * when nobody notices. Call `freed` after releasing a lot of memory.
 */
export function settleMemory(signal: AbortSignal): { readonly freed: () => void } {
  let settled = { memory: 0, active: 0, isWhole: true };
  let resting = 0;
  let isCollecting = false;
  const isQuiet = quietness();
  const check = async (): Promise<void> => {
    resting = isQuiet() ? resting + 1 : 0;
    if (resting === 0) return;
    const memory = residentMemory();
    if (memory === undefined) return;
    if (settled.active === 0) {
      await withPauses(rounds, collect);
      keepWarm();
    } else if (!settled.isWhole || memory > settled.memory + much) collect();
    else if (
      resting >= rest &&
      (memory >= settled.memory * growth + least || performance.eventLoopUtilization().active - settled.active >= work)
    )
      collect();
    else return;
    settled = { memory: residentMemory() ?? memory, active: performance.eventLoopUtilization().active, isWhole: true };
  };
  const timer = setInterval(async () => {
    if (isCollecting) return;
    isCollecting = true;
    await check();
    isCollecting = false;
  }, interval);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return { freed: () => void (settled.isWhole = false) };
}

/**
 * Does something several times, with pauses in which the process has little else to do: all collections after the start together would keep a request waiting
 * for half a second.
 */
export async function withPauses(times: number, act: () => void, isQuiet = quietness()): Promise<void> {
  for (let time = 0; time < times; time++) {
    act();
    do await setTimeout(pause, undefined, { ref: false });
    while (!isQuiet());
  }
}

/** Tells whether the process did little since it was last asked, or since the start. */
function quietness(): () => boolean {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization <= quiet;
  };
}

/**
 * Returns free pages at once instead of whenever the engine chooses to. It also drops the shapes of objects that no longer exist
 * and the code compiled for them, which makes the next request of that kind slower.
 */
function collect(): void {
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Stops the engine from doing the same a few seconds after each burst of requests, which would make every burst as slow as the first. */
function keepWarm(): void {
  setFlagsFromString('--no-flush-bytecode');
  setFlagsFromString('--no-memory-reducer-favors-memory');
}
