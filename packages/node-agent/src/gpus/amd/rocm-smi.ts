import type { Gpu, GpuReading, GpuReport } from '@capstan/api';
import { type Fields, fieldsOf, isObject } from '@capstan/machinery';
import { excerpt, GpuError } from '../errors.ts';
import { normalBusId } from '../text/measure.ts';
import { known } from '../text/readings.ts';
import { serialName } from './amd-smi.ts';
import { amdGpu } from './card.ts';
import { bytesAt, numberAt, parseOutput, textAt } from './json.ts';

/** The options of rocm-smi, which is older than amd-smi and knows less: no links, no ECC, and no processes by card. */
export const rocmOptions = [
  '--showuniqueid',
  '--showbus',
  '--showproductname',
  '--showmeminfo',
  'vram',
  '--showuse',
  '--showtemp',
  '--showpower',
  '--showdriverversion',
  '--showtoponuma',
  '--json',
];

export interface RocmOutput {
  readonly output: string;
  readonly renderNodes?: ReadonlyMap<string, string>;
  readonly observedAt: number;
}

export function parseRocmReport({ output, renderNodes, observedAt }: RocmOutput): GpuReport {
  const parsed = parseOutput(output, 'rocm-smi');
  if (!isObject(parsed)) throw new GpuError('Malformed', `expected an object from rocm-smi, found "${excerpt(output)}"`);
  const cards = Object.entries(parsed)
    .filter(([name]) => /^card\d{1,3}$/.test(name))
    .map(([name, card]) => ({ name, card: fieldsOf(card) }));
  // rocm-smi exits with 0 and prints {} when it fails.
  if (cards.length === 0) throw new GpuError('NoDevices', `rocm-smi shows no card: "${excerpt(output)}"`);
  const gpus = cards.map(({ name, card }) => gpuOf(name, card, renderNodes));
  if (new Set(gpus.map(({ uuid }) => uuid)).size !== gpus.length)
    throw new GpuError('Malformed', 'expected each card once from rocm-smi, found one twice');
  const driver = textAt(fieldsOf(parsed['system']), 'Driver version');
  return {
    source: 'amd',
    ...(driver !== undefined && { driverVersion: driver }),
    gpus,
    unreachable: [],
    linkGroups: [],
    observedAt,
    readings: cards.map(({ card }, index) => readingOf(gpus[index]!.uuid, card)),
  };
}

/** The names of the fields contain dots and differ in case between versions. */
function field(card: Readonly<Fields>, name: RegExp): Readonly<Fields> {
  return { value: Object.entries(card).find(([key]) => name.test(key))?.[1] };
}

function gpuOf(name: string, card: Readonly<Fields>, renderNodes: ReadonlyMap<string, string> | undefined): Gpu {
  const uuid = serialName(textAt(field(card, /^Unique ID$/i), 'value'));
  const pciBusId = normalBusId(textAt(field(card, /^PCI Bus$/i), 'value') ?? '');
  const memoryBytes = bytesAt(field(card, /^VRAM Total Memory \(B\)$/i), 'value');
  const productName = textAt(field(card, /^Card Series$/i), 'value') ?? textAt(field(card, /^Card Model$/i), 'value') ?? '';
  if (uuid === undefined || pciBusId === undefined || memoryBytes === undefined) {
    throw new GpuError(
      'Malformed',
      `expected the unique id, the bus and the memory of ${name} from rocm-smi, found "${excerpt(JSON.stringify(card))}"`,
    );
  }
  const numaNode = numberAt(field(card, /Numa Node$/i), 'value');
  return amdGpu({ uuid, productName, memoryBytes, pciBusId, numaNode, ecc: { mode: 'unsupported' } }, renderNodes);
}

function readingOf(uuid: string, card: Readonly<Fields>): GpuReading {
  const number = (name: RegExp): number | undefined => numberAt(field(card, name), 'value');
  return {
    uuid,
    ...known({
      utilizationPercent: number(/^GPU use \(%\)$/i),
      memoryUsedBytes: bytesAt(field(card, /^VRAM Total Used Memory \(B\)$/i), 'value'),
      temperatureCelsius: number(/^Temperature \(Sensor junction\)/i) ?? number(/^Temperature \(Sensor edge\)/i),
      memoryTemperatureCelsius: number(/^Temperature \(Sensor memory\)/i),
      powerWatts: number(/Graphics Package Power \(W\)$/i),
    }),
    throttle: [],
    unreadable: [],
    processes: [],
  };
}
