import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { StoreDriver } from '@capstan/testbed';
import { residentMegabytes } from '../measure/memory.ts';
import { attacks } from './attacks.ts';
import { longestCollection, turnsBetween } from './turns.ts';
import { type Felt, feel, preferThisThread } from './victim.ts';
import { HostileWorld } from './world.ts';

export interface HostileAmounts {
  readonly store?: StoreDriver;
  /** How long each attack lasts. */
  readonly seconds?: number;
  readonly objects?: number | undefined;
  /** Attacks whose names contain one of these; all when empty. */
  readonly only?: readonly string[];
}

interface Row {
  readonly attack: string;
  readonly felt: Felt;
  readonly answers: Readonly<Record<string, number>>;
  readonly megabytes: number;
  /** Of the server's event loop, in milliseconds of processor time. */
  readonly longestTurn: number;
  /** The longest garbage collection, in milliseconds. */
  readonly collection: number;
}

/** In milliseconds: the first requests run in cold code, and the server collects its garbage when it first rests. */
const warmUp = 8_000;

/** Attacks a server, one way after the other, while another tenant reads and writes; prints how much that tenant notices. */
export async function measureHostile({ store = 'sqlite', seconds = 8, objects = 10_000, only = [] }: HostileAmounts): Promise<string> {
  await using hostile = await HostileWorld.start({ store, children: 210, objects, largeObjects: 10 });
  preferThisThread();
  await feel(hostile, sleep(warmUp));
  const alone = await feel(hostile, sleep(seconds * 1000));
  const rows: Row[] = [];
  for (const attack of attacks.keys()) {
    if (only.length > 0 && !only.some((part) => attack.includes(part))) continue;
    process.stderr.write(`${attack}…\n`);
    rows.push(await beside(hostile, attack, seconds));
    // Work that the server still has to do belongs to no other attack.
    await sleep(2_000);
  }
  return tableOf(alone, rows);
}

async function beside(hostile: HostileWorld, attack: string, seconds: number): Promise<Row> {
  const began = Date.now();
  const worker = new Worker(new URL('./attacker.ts', import.meta.url), { workerData: { name: attack, world: hostile.world, seconds } });
  await once(worker, 'message');
  let megabytes = 0;
  const looking = setInterval(() => (megabytes = Math.max(megabytes, residentMegabytes(hostile.pids) ?? 0)), 200);
  const ended = once(worker, 'message') as Promise<[Record<string, number>]>;
  const felt = await feel(hostile, Promise.race([ended, sleep(seconds * 1000)]));
  const [answers] = await ended;
  clearInterval(looking);
  await worker.terminate();
  const longestTurn = Math.max(0, ...turnsBetween(hostile.turnsFile, began, Date.now()).map(({ used }) => used));
  return { attack, felt, answers, megabytes, longestTurn, collection: longestCollection(hostile.turnsFile, began, Date.now()) };
}

function tableOf(alone: Felt, rows: readonly Row[]): string {
  const milliseconds = (value: number): string => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
  const both = ({ gets, writes }: Felt, share: number): string =>
    `${milliseconds(gets.quantile(share))} / ${milliseconds(writes.quantile(share))}`;
  const longest = ({ gets, writes }: Felt): string => milliseconds(Math.max(gets.quantile(1), writes.quantile(1)));
  const line = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  const answersOf = ({ answers }: Row): string =>
    Object.entries(answers)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([answer, count]) => `${answer}: ${count}`)
      .join(', ');
  return [
    line(
      'Attack',
      'victim p50, get / write',
      'p99',
      'longest wait',
      'longest turn',
      'collection',
      'failed',
      'answers to the attacker',
      'server',
    ),
    '|---|--:|--:|--:|--:|--:|--:|---|--:|',
    line('none', both(alone, 0.5), both(alone, 0.99), longest(alone), '', '', alone.failed, '', ''),
    ...rows.map((row) =>
      line(
        row.attack,
        both(row.felt, 0.5),
        both(row.felt, 0.99),
        `${longest(row.felt)} ms`,
        `${row.longestTurn} ms`,
        `${row.collection} ms`,
        row.felt.failed,
        answersOf(row),
        `${Math.round(row.megabytes)} MB`,
      ),
    ),
    '',
  ].join('\n');
}
