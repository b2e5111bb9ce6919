import { buildCapstan } from '@capstan/testbed';
import { ConsolePlatform } from './platform.ts';

/*
 * Measures how much a browser without a cache loads until the first page has its data, and how long that takes. Run it by hand, on an idle machine:
 * node tests/e2e/console/first-load.ts
 */

const loads = 10;
/** When the page has shown the text, in milliseconds since its navigation began, and the bytes that it has loaded by then. */
const measure = `new Promise((done) => {
  const look = () => document.querySelector('main')?.textContent.includes('Needs attention')
    ? done([performance.now(), [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter(({ name }) => !/\\/(kube|rest|session)/.test(new URL(name).pathname))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)])
    : requestAnimationFrame(look);
  look();
})`;

await buildCapstan();
await using platform = await ConsolePlatform.start();
await platform.prepare();
const times: number[] = [];
for (let load = 0; load < loads; load++) {
  await using visit = await platform.ownerVisit();
  await visit.page.goto(platform.at(''), { waitUntil: 'commit' });
  const [time, bytes] = (await visit.page.evaluate(measure)) as [number, number];
  times.push(time);
  process.stdout.write(`${Math.round(time)} ms, ${bytes} bytes\n`);
}
process.stdout.write(`median: ${Math.round(times.sort((one, other) => one - other)[loads / 2]!)} ms\n`);
