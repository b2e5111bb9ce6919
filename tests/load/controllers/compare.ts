import { buildCapstan, type StoreDriver } from '@capstan/testbed';
import { comparisonTable } from '../measure/table.ts';
import { idleRow } from './idle.ts';
import { informerRows } from './informers.ts';
import { namespaceRow } from './namespace.ts';
import type { Pair } from './rows.ts';

export interface ControllerComparison {
  readonly store: StoreDriver;
  /** Objects for the informers and reconcilers. */
  readonly count: number | undefined;
  /** Names of parts; empty for all. */
  readonly only: readonly string[];
}

/** Compares informers, reconcilers and controllers with those of Kubernetes. Returns Markdown. */
export async function compareControllers({ store, count, only }: ControllerComparison): Promise<string> {
  const parts: Readonly<Record<string, () => Promise<Pair[]>>> = {
    informers: () => informerRows(store, count ?? 50_000),
    namespace: async () => [await namespaceRow(store, count ?? 5_000)],
    idle: async () => [await idleRow()],
  };
  const unknown = only.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) throw new Error(`--only: expected some of ${Object.keys(parts).join(', ')}; found ${unknown}`);
  await buildCapstan();
  const pairs: Pair[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (only.length > 0 && !only.includes(name)) continue;
    process.stderr.write(`${name}\n`);
    pairs.push(...(await measure()));
  }
  return `${comparisonTable([
    { name: 'Kubernetes', measurements: pairs.map(({ kubernetes }) => kubernetes) },
    { name: `Capstan on ${store}`, measurements: pairs.map(({ capstan }) => capstan) },
  ])}\n`;
}
