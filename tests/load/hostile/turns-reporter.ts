/** Runs inside a server that is measured: reports turns of its event loop by the processor time that they took. Waiting for a processor does not count. */

import { appendFileSync, writeFileSync } from 'node:fs';

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
}
