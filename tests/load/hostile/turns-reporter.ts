/**
 * Runs inside a server that is measured: reports turns of its event loop by the processor time that they took, and garbage collections. Waiting for a
 * processor does not count for turns.
 */

import { appendFileSync, writeFileSync } from 'node:fs';
import { PerformanceObserver, performance } from 'node:perf_hooks';

const file = process.env['CAPSTAN_LOAD_TURNS'];
/** In milliseconds: shorter turns are not reported. */
const shortest = 5;
const interval = 2;

function used(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

if (file !== undefined) {
  writeFileSync(file, '');
  let before = used();
  setInterval(() => {
    const now = used();
    if (now - before >= shortest) appendFileSync(file, `${JSON.stringify({ at: Date.now(), used: Math.round(now - before) })}\n`);
    before = now;
  }, interval).unref();
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      if (duration >= shortest)
        appendFileSync(
          file,
          `${JSON.stringify({ at: Math.round(performance.timeOrigin + startTime + duration), collected: Math.round(duration) })}\n`,
        );
  }).observe({ entryTypes: ['gc'] });
}
