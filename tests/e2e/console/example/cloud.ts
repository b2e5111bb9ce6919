import type { UsageGroup } from '@capstan/api';
import type { Page } from 'playwright-core';
import { answerLive, type LiveAnswer } from '../live.ts';
import { instances, members, operations, stepOutput } from './apps.ts';
import { bookings, nodeHistory, nodeReadings, nodes } from './fleet.ts';
import { ago, noise } from './objects.ts';
import { auditEvents, bindings, quotas, usageSince, workspaces } from './tenancy.ts';
import { allocations, offerings, storages, units, usedLimits } from './workloads.ts';

/** Lists of the example by the plural of their kind. Everything else is that of the real server. */
const lists: Readonly<Record<string, readonly object[]>> = {
  gpuunits: units,
  allocations,
  offerings,
  gpustorages: storages,
  computeusages: usedLimits,
  gpunodes: nodes,
  nodebookings: bookings,
  appinstances: instances,
  appmembers: members,
  appoperations: operations,
  fleetquotas: quotas,
  clusterrolebindings: bindings,
  workspaces,
};

/** Few enough for a page that gets all of them at once. */
const samples = 40;

/** The numbers of a unit with one GPU over some minutes. */
const unitNumbers = Array.from({ length: samples }, (_, index) => {
  const share = 0.75 + 0.2 * Math.sin(index / 4) + 0.05 * noise(index);
  return {
    timestamp: ago((samples - index) / 3),
    containers: [{ usage: { cpu: `${Math.round(9000 * share)}m`, memory: `${Math.round(70_000 + 4000 * noise(index))}Mi` } }],
    gpus: [{ uuid: 'GPU-gpu-03-0', utilizationPercent: 100 * Math.min(1, share), memoryUsedBytes: (58 + index / 8) * 2 ** 30 }],
  };
});

function answer(path: string): LiveAnswer {
  if (path.endsWith('/capstan/metrics/nodes')) return { values: [nodeReadings] };
  if (path.includes('/metrics.k8s.io/')) return { values: unitNumbers };
  const items = lists[path.slice(path.lastIndexOf('/') + 1)];
  return items === undefined ? undefined : { items };
}

const logLine = (step: number): string =>
  `${ago((240 - step) / 6)} step ${String(step * 20).padStart(5)}  loss ${(2.9 * Math.exp(-step / 90) + 1.1 + 0.05 * noise(step)).toFixed(4)}  lr 2.0e-05  tokens/s ${Math.round(41_000 + 900 * noise(step + 7))}`;
const logs = ['loading 30 shards of the checkpoint', 'using 16 GPUs of 2 nodes, bfloat16']
  .map((line) => `${ago(41)} ${line}`)
  .concat(Array.from({ length: 240 }, (_, step) => logLine(step)))
  .join('\n');

/** An answer instead of that of the example. Undefined leaves it as it is. */
type Instead = (path: string) => LiveAnswer | Promise<LiveAnswer>;

/** Shows a page the cloud of the example: a busy fleet with people on it. The pages, the process behind them and the rights are real. */
export async function showExample(page: Page, instead: Instead = () => undefined): Promise<void> {
  await answerLive(page, async (path) => (await instead(path)) ?? answer(path));
  await page.route('**/capstan/usage?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    return route.fulfill({ json: usageSince(query.get('from') ?? '2026-01-01', query.get('groupBy') as UsageGroup) });
  });
  await page.route('**/capstan/audit?*', (route) => route.fulfill({ json: auditEvents }));
  await page.route('**/gpunodes/*/metrics*', (route) =>
    route.fulfill({ json: nodeHistory(/gpunodes\/([^/]+)/.exec(route.request().url())![1]!) }),
  );
  await page.route('**/pods/*/log?*', (route) => route.fulfill({ contentType: 'text/plain', body: `${logs}\n` }));
  await page.route('**/appoperations/*/log?*', (route) => route.fulfill({ contentType: 'text/plain', body: `${stepOutput}\n` }));
}
