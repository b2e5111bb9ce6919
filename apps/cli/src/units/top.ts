import type { UnitGpuUsage } from '@capstan/api';
import { type KubeObject, parseQuantity, scaledValue } from '@capstan/machinery';
import { columns } from '../columns.ts';
import { printObject } from '../output.ts';
import { refresh } from '../refreshing.ts';
import { answered, isPassing, openUnits, type UnitFlags } from './units.ts';

export interface TopFlags extends UnitFlags {
  readonly watch?: boolean;
  readonly output?: 'json' | 'yaml';
}

/** PodMetrics of a unit. */
export type UnitMetrics = KubeObject & {
  readonly containers?: readonly { readonly usage: { readonly cpu: string; readonly memory: string } }[];
  readonly gpus?: readonly UnitGpuUsage[];
};

const metricsKind = { group: 'metrics.k8s.io', version: 'v1beta1', resource: 'pods', namespaced: true };

/** Prints what the units that run use. */
export async function topUnits({ watch, output, ...flags }: TopFlags): Promise<void> {
  using units = openUnits(flags);
  const { client, namespace } = units;
  const look = async (): Promise<UnitMetrics[]> =>
    (await answered(units, client.resource<UnitMetrics>(metricsKind).in(namespace).list())).items;
  if (output !== undefined) return printObject({ apiVersion: 'v1', kind: 'List', items: await look() }, output);
  const write = (text: string): void => void process.stdout.write(text);
  const lines = async (): Promise<string[]> => unitLines(await look());
  if (watch === true) return refresh({ look: lines, isPassing, isTerminal: process.stdout.isTTY === true, write });
  for (const line of await lines()) write(`${line}\n`);
}

const head = ['NAME', 'CPU', 'MEMORY', 'GPUS', 'GPU UTILIZATION', 'GPU MEMORY'];

export function unitLines(items: readonly UnitMetrics[]): string[] {
  if (items.length === 0) return ['No unit has numbers. They come some seconds after a unit has started; "capstan ps" lists units.'];
  const rows = items.map(({ metadata, containers: [first] = [], gpus = [] }) => [
    metadata.name ?? '',
    first === undefined ? '-' : `${scaledValue(parseQuantity(first.usage.cpu), -3)}m`,
    first === undefined ? '-' : mebibytes(Number(scaledValue(parseQuantity(first.usage.memory)))),
    String(gpus.length),
    average(gpus.map(({ utilizationPercent }) => utilizationPercent)),
    sum(gpus.map(({ memoryUsedBytes }) => memoryUsedBytes)),
  ]);
  return columns([head, ...rows]);
}

const known = (numbers: readonly (number | undefined)[]): number[] => numbers.filter((one) => one !== undefined);
const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)}Mi`;

function average(numbers: readonly (number | undefined)[]): string {
  const all = known(numbers);
  return all.length === 0 ? '-' : `${Math.round(all.reduce((total, one) => total + one, 0) / all.length)}%`;
}

function sum(numbers: readonly (number | undefined)[]): string {
  const all = known(numbers);
  return all.length === 0 ? '-' : mebibytes(all.reduce((total, one) => total + one, 0));
}
