import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { residentMemory } from './memory.ts';

/** How often to look, in milliseconds, and how much of that the process may have been busy. */
const interval = 1_500;
const quiet = 0.1;
/** After so many quiet intervals the work is over: what was compiled for it goes too. */
const rest = 20;

/** What has grown by less than this is left alone, a quarter and 32 MiB, unless so much was done since, in milliseconds, that much may have been deleted. */
const growth = 1.25;
const least = 32 << 20;
const work = 20_000;
/** When it has grown by so much, in bytes, getting it back matters more than what was compiled. */
const much = 256 << 20;
/** The engine lets go of compiled code that was not used between so many collections: most of what ran at the start never runs again. */
const rounds = 8;

/**
 * Gives memory back when the process has nothing to do: what was only needed to start, which is a tenth of all it holds, and what was deleted since. The engine keeps such memory otherwise, in
 * case it is needed again. It stops the process for a moment, so it waits for one in which nobody notices.
 * `freed` tells it that much has been let go of.
 */
export function settleMemory(signal: AbortSignal): { readonly freed: () => void } {
  let settled = { memory: 0, active: 0, isWhole: true };
  let resting = 0;
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    resting = utilization > quiet ? 0 : resting + 1;
    if (resting === 0) return;
    const memory = residentMemory();
    if (memory === undefined) return;
    if (settled.active === 0) {
      for (let round = 0; round < rounds; round++) collect();
      keepWarm();
    } else if (!settled.isWhole || memory > settled.memory + much) collect();
    else if (resting >= rest && (memory >= settled.memory * growth + least || now.active - settled.active >= work)) collect();
    else return;
    settled = { memory: residentMemory() ?? memory, active: now.active, isWhole: true };
  }, interval);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return { freed: () => void (settled.isWhole = false) };
}

/** Gives free pages back at once, which the engine does in its own time otherwise. It also lets go of the shapes of objects of which there are none now, and with them of the code compiled for them: whoever comes next pays for it. */
function collect(): void {
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** The engine would do the same a few seconds after each burst of requests, and every next burst would be as slow as the first. */
function keepWarm(): void {
  setFlagsFromString('--no-flush-bytecode');
  setFlagsFromString('--no-memory-reducer-favors-memory');
}
