import {
  type GpuHealthState,
  type GpuNumbers,
  gpuHealthStates,
  type NodeGpuMetrics,
  type UnitGpuUsage,
  type UnitUsage,
} from '@capstan/api';
import { type Fields, fieldsOf, itemsOf, textOf } from '@capstan/machinery';

/** More are ignored: they would be a mistake, or a node that wants to harm. */
const mostUnits = 4_096;
const mostGpus = 1_024;
const longestText = 253;

/** Parses the answer of `/node/units/usage`. Units without the numbers that everybody needs are left out. */
export function parseUsage(text: string): readonly UnitUsage[] {
  return itemsOf(fieldsOf(JSON.parse(text))['units'])
    .slice(0, mostUnits)
    .flatMap(unitOf);
}

/** Parses the answer of `/node/metrics`. */
export function parseGpus(text: string): readonly NodeGpuMetrics[] {
  return itemsOf(fieldsOf(JSON.parse(text))['gpus'])
    .slice(0, mostGpus)
    .flatMap(gpuOf);
}

function unitOf(item: Fields): UnitUsage[] {
  const owner = fieldsOf(item['owner']);
  const [name, cluster, namespace, unit, uid] = [item['name'], owner['cluster'], owner['namespace'], owner['name'], owner['uid']].map(
    shortText,
  );
  const [at, window, cpuMillis, memoryBytes] = ['at', 'window', 'cpuMillis', 'memoryBytes'].map((key) => amount(item[key]));
  if (name === '' || unit === '' || at === undefined || at > latestTime || window === undefined) return [];
  if (cpuMillis === undefined || memoryBytes === undefined) return [];
  const gpus = itemsOf(item['gpus'])
    .slice(0, mostGpus)
    .map((gpu): UnitGpuUsage => ({ uuid: shortText(gpu['uuid']), ...numbers(gpu, ['utilizationPercent', 'memoryUsedBytes']) }));
  const whole = { at, window, cpuMillis: Math.round(cpuMillis), memoryBytes: Math.round(memoryBytes) };
  return [{ name: name!, owner: { cluster: cluster!, namespace: namespace!, name: unit!, uid: uid! }, ...whole, gpus }];
}

/** The last millisecond that a Date can have. */
const latestTime = 8.64e15;

function gpuOf(item: Fields): NodeGpuMetrics[] {
  const uuid = shortText(item['uuid']);
  if (uuid === '') return [];
  const health: GpuHealthState = gpuHealthStates.find((state) => state === item['health']) ?? 'Unknown';
  const latest = fieldsOf(item['latest']);
  const known: GpuNumbers = numbers(latest, ['utilizationPercent', 'memoryUsedBytes', 'temperatureCelsius', 'powerWatts']);
  return [{ uuid, model: shortText(item['model']), health, ...numbers(item, ['memoryBytes']), latest: known }];
}

const shortText = (value: unknown): string => textOf(value).slice(0, longestText);

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

/** The fields that are amounts. */
function numbers<K extends string>(item: Fields, keys: readonly K[]): { [key in K]?: number } {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const value = amount(item[key]);
      return value === undefined ? [] : [[key, value]];
    }),
  ) as { [key in K]?: number };
}
