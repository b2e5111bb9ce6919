import type { GpuProcess, GpuReading } from '@capstan/api';
import { excerpt, GpuError } from '../errors.ts';
import { mebibyte, readMeasure, unreachableIn } from '../text/measure.ts';
import { FieldReader, known, times } from '../text/readings.ts';
import { failureOf } from './report.ts';
import { throttleOfBits } from './throttle.ts';

/** The fields of the quick query and the names that nvidia-smi prints for them in the header. Only the uuid must exist. */
const fields = [
  ['index', 'index'],
  ['uuid', 'uuid'],
  ['utilization.gpu', 'utilization.gpu [%]'],
  ['utilization.memory', 'utilization.memory [%]'],
  ['memory.used', 'memory.used [MiB]'],
  ['temperature.gpu', 'temperature.gpu'],
  ['temperature.memory', 'temperature.memory'],
  ['power.draw', 'power.draw [W]'],
  ['clocks.sm', 'clocks.current.sm [MHz]'],
  ['clocks.mem', 'clocks.current.memory [MHz]'],
  ['clocks_event_reasons.active', 'clocks_event_reasons.active'],
] as const;

const headerOf: ReadonlyMap<string, string> = new Map(fields);
export const sampleFields: readonly string[] = fields.map(([name]) => name);

/** Commas in the names of processes are not escaped, so the name is last. */
export const processFields = 'gpu_uuid,pid,used_memory,process_name';

export interface NvidiaSampleOutputs {
  /** `--query-gpu=… --format=csv,nounits`. */
  readonly query: string;
  /** `--query-compute-apps=… --format=csv,nounits`. */
  readonly processes: string;
  /** `pmon -c 1 -s um`, for the utilisation of each process. Cards that are divided do not have it. */
  readonly processUse?: string;
  /** The card of each MIG device. */
  readonly parents?: ReadonlyMap<string, string>;
}

/** The readings of one quick sample. Cards that are lost are not in it; the next report names them. */
export function parseNvidiaSample({ query, processes, processUse = '', parents = new Map() }: NvidiaSampleOutputs): GpuReading[] {
  const cards = parseCards(query);
  const uses = parseUses(processUse);
  const byCard = Map.groupBy(parseProcesses(processes), ({ gpu }) => parents.get(gpu) ?? gpu);
  return cards.map(({ index, reading }) => ({
    ...reading,
    processes: (byCard.get(reading.uuid) ?? []).map(({ gpu, process }) => ({
      ...process,
      ...known({ utilizationPercent: uses.get(`${index}/${process.pid}`) }),
      ...(gpu !== reading.uuid && { migDevice: gpu }),
    })),
  }));
}

interface SampledCard {
  readonly index: number;
  readonly reading: GpuReading;
}

function parseCards(text: string): SampledCard[] {
  const [header = '', ...lines] = linesOf(text);
  const columns = header.split(', ');
  if (!columns.includes('uuid')) throw failureOf(text);
  return lines.map((line, position) => {
    const cells = line.split(', ');
    if (cells.length !== columns.length) {
      throw new GpuError('Incomplete', `expected ${columns.length} columns from nvidia-smi --query-gpu, found "${excerpt(line)}"`);
    }
    return cardOf((name) => cells[columns.indexOf(headerOf.get(name)!)], position);
  });
}

function cardOf(cell: (name: string) => string | undefined, position: number): SampledCard {
  const uuid = cell('uuid') ?? '';
  const index = Number(cell('index') ?? position);
  if (!/^GPU-[0-9a-f-]{8,64}$/i.test(uuid)) throw new GpuError('Malformed', `expected the uuid of a GPU, found "${excerpt(uuid)}"`);
  const reader = new FieldReader(cell);
  const numbers = known({
    utilizationPercent: reader.amount('utilization.gpu', '%'),
    memoryUtilizationPercent: reader.amount('utilization.memory', '%'),
    memoryUsedBytes: times(reader.amount('memory.used', 'MiB'), mebibyte),
    temperatureCelsius: reader.number('temperature.gpu', 'C'),
    memoryTemperatureCelsius: reader.number('temperature.memory', 'C'),
    powerWatts: reader.amount('power.draw', 'W'),
    smClockMegahertz: reader.amount('clocks.sm', 'MHz'),
    memoryClockMegahertz: reader.amount('clocks.mem', 'MHz'),
  });
  const throttle = throttleOfBits(cell('clocks_event_reasons.active')) ?? [];
  return { index, reading: { uuid, ...numbers, throttle, unreadable: reader.unreadable, processes: [] } };
}

function parseProcesses(text: string): { gpu: string; process: GpuProcess }[] {
  const [header = '', ...lines] = linesOf(text);
  if (!header.startsWith('gpu_uuid, pid, ')) throw failureOf(text);
  return lines.flatMap((line) => {
    const [gpu = '', pid = '', memory = '', ...name] = line.split(', ');
    if (!/^\d{1,10}$/.test(pid)) throw new GpuError('Malformed', `expected a process from nvidia-smi, found "${excerpt(line)}"`);
    const used = readMeasure(memory, 'MiB');
    return [
      {
        gpu,
        process: {
          pid: Number(pid),
          name: name.join(', ').slice(0, 256),
          ...(used.kind === 'value' && { memoryBytes: used.value * mebibyte }),
        },
      },
    ];
  });
}

/** The share of the multiprocessors that a process used, by `<index of the card>/<pid>`. */
function parseUses(text: string): Map<string, number> {
  const lines = text.split(/\r?\n/);
  const header =
    lines
      .find((line) => line.startsWith('#'))
      ?.slice(1)
      .trim()
      .split(/\s+/) ?? [];
  const [gpu, pid, use] = ['gpu', 'pid', 'sm'].map((name) => header.indexOf(name));
  const uses = new Map<string, number>();
  if (gpu === -1 || pid === -1 || use === -1) return uses;
  for (const line of lines) {
    const cells = line.trim().split(/\s+/);
    const value = cells[use!] ?? '';
    if (!line.startsWith('#') && /^\d{1,3}$/.test(value)) uses.set(`${cells[gpu!]}/${cells[pid!]}`, Number(value));
  }
  return uses;
}

/** The lines of a table, without messages about lost cards. */
function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '' && unreachableIn(line).length === 0);
}
