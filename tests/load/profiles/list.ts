import { mustAsk } from '../client/ask.ts';
import { configMapsPath } from '../client/objects.ts';
import { fill } from './fill.ts';
import { freshNamespace, type Measurement, type Profile, type Subject } from './profile.ts';

const rounds = 7;
const pageSize = 500;

/** Lists of many objects: at once, and in pages. */
export const list: Profile = async (subject, amounts) => {
  const count = amounts.count ?? 10_000;
  const namespace = freshNamespace();
  await fill(subject, namespace, { count, size: 1024 });
  const path = configMapsPath(namespace);
  return [
    await timed(`list ${count} at once`, () => listOnce(subject, path, count)),
    await timed(`list ${count} in pages of ${pageSize}`, () => listPages(subject, path, count)),
  ];
};

/** The median of some rounds: a single list is noisy, and short enough to be repeated. */
async function timed(what: string, work: () => Promise<number>): Promise<Measurement> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) times.push(await work());
  times.sort((a, b) => a - b);
  return { what, value: times[Math.floor(rounds / 2)]!, unit: 'ms', better: 'lower' };
}

async function listOnce(subject: Subject, path: string, count: number): Promise<number> {
  const answer = await mustAsk(subject.address, { method: 'GET', path });
  checkCount(subject, countNames(answer.text), count);
  return answer.milliseconds;
}

async function listPages(subject: Subject, path: string, count: number): Promise<number> {
  let milliseconds = 0;
  let found = 0;
  let more = '';
  do {
    const answer = await mustAsk(subject.address, { method: 'GET', path: `${path}?limit=${pageSize}${more && `&continue=${more}`}` });
    milliseconds += answer.milliseconds;
    found += countNames(answer.text);
    more = /"continue":"([^"]+)"/.exec(answer.text.slice(0, 2_000))?.[1] ?? '';
  } while (more !== '');
  checkCount(subject, found, count);
  return milliseconds;
}

function countNames(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"name":"c-'); at !== -1; at = text.indexOf('"name":"c-', at + 10)) count++;
  return count;
}

function checkCount(subject: Subject, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${subject.name}: expected a list of ${expected} objects, got ${found}`);
}
