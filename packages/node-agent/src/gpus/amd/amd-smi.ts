import type { Ecc, Gpu, GpuReading, GpuReport, LinkGroup, ThrottleReason } from '@capstan/api';
import { type Fields, fieldsOf, isObject, itemsOf } from '@capstan/machinery';
import { excerpt, GpuError } from '../errors.ts';
import { connectedGroups } from '../text/groups.ts';
import { normalBusId } from '../text/measure.ts';
import { known } from '../text/readings.ts';
import { amdGpu } from './card.ts';
import { at, bytesAt, entriesOf, numberAt, parseOutput, textAt } from './json.ts';

/** The outputs of amd-smi's commands, each with `--json`. */
export interface AmdOutputs {
  readonly list: string;
  readonly static: string;
  readonly metric: string;
  readonly process?: string;
  readonly topology?: string;
  readonly version?: string;
  /** The device file of each card, by bus id: `/dev/dri/renderD128`. */
  readonly renderNodes?: ReadonlyMap<string, string>;
  readonly observedAt: number;
}

/** The report of amd-smi. The commands must agree about the cards. */
export function parseAmdReport(outputs: AmdOutputs): GpuReport {
  const list = entriesOf(outputs.list, 'amd-smi list');
  const facts = entriesOf(outputs.static, 'amd-smi static');
  const metrics = entriesOf(outputs.metric, 'amd-smi metric');
  if (list.size === 0) throw new GpuError('NoDevices', 'amd-smi list shows no GPU');
  for (const number of list.keys()) {
    if (!facts.has(number) || !metrics.has(number))
      throw new GpuError('Incomplete', `amd-smi list shows GPU ${number} and static or metric do not`);
  }
  if (facts.size !== list.size) throw new GpuError('Incomplete', `amd-smi list shows ${list.size} GPUs and static ${facts.size}`);
  const uuids = uuidsOf(list, facts);
  const numbers = [...list.keys()];
  const gpus = numbers.map((number) =>
    gpuOf({ uuid: uuids.get(number)!, facts: facts.get(number)!, metrics: metrics.get(number)!, renderNodes: outputs.renderNodes }),
  );
  const driver = textAt(facts.get(numbers[0]!)!, 'driver.version') ?? textAt(facts.get(numbers[0]!)!, 'driver.driver_version');
  const rocm = outputs.version === undefined ? undefined : textAt(firstOf(parseOutput(outputs.version, 'amd-smi version')), 'rocm_version');
  return {
    source: 'amd',
    ...(driver !== undefined && { driverVersion: driver }),
    ...(rocm !== undefined && { runtime: { name: 'ROCm', version: rocm } }),
    gpus,
    unreachable: [],
    linkGroups: outputs.topology === undefined ? [] : linkGroupsOf(outputs.topology, uuids),
    observedAt: outputs.observedAt,
    readings: parseAmdReadings({ metric: outputs.metric, ...(outputs.process !== undefined && { process: outputs.process }), uuids }),
  };
}

function firstOf(value: unknown): Readonly<Fields> {
  return fieldsOf(Array.isArray(value) ? value[0] : value);
}

/**
 * Cards are named by their serial numbers, as ROCm's own `GPU-<serial>`, so that amd-smi and rocm-smi give a card the same name. Partitions of a card share
 * its serial number, so they keep the uuids of amd-smi.
 */
function uuidsOf(list: ReadonlyMap<number, Readonly<Fields>>, facts: ReadonlyMap<number, Readonly<Fields>>): Map<number, string> {
  const serials = new Map([...facts].map(([number, entry]) => [number, serialName(textAt(entry, 'asic.asic_serial'))]));
  const known = [...serials.values()].filter((serial) => serial !== undefined);
  const isUnique = known.length === facts.size && new Set(known).size === known.length;
  const uuids = new Map([...list].map(([number, entry]) => [number, (isUnique ? serials.get(number) : textAt(entry, 'uuid')) ?? '']));
  const values = [...uuids.values()];
  if (values.includes('') || new Set(values).size !== values.length) {
    throw new GpuError('Malformed', `expected a uuid of its own for each GPU from amd-smi, found "${excerpt(values.join(', '))}"`);
  }
  return uuids;
}

/** `GPU-a1b2c3d4e5f60000`. */
export function serialName(serial: string | undefined): string | undefined {
  const digits = /^0x([0-9a-f]{1,16})$/i.exec(serial ?? '')?.[1]?.toLowerCase();
  return digits === undefined || /^0+$/.test(digits) ? undefined : `GPU-${digits.padStart(16, '0')}`;
}

interface AmdCard {
  readonly uuid: string;
  readonly facts: Readonly<Fields>;
  readonly metrics: Readonly<Fields>;
  readonly renderNodes: ReadonlyMap<string, string> | undefined;
}

function gpuOf({ uuid, facts, metrics, renderNodes }: AmdCard): Gpu {
  const productName = textAt(facts, 'asic.market_name') ?? '';
  const pciBusId = normalBusId(textAt(facts, 'bus.bdf') ?? '');
  const memoryBytes = bytesAt(facts, 'vram.size') ?? bytesAt(facts, 'vram.vram_size');
  if (pciBusId === undefined || memoryBytes === undefined) {
    throw new GpuError('Malformed', `expected the bus and the memory of ${uuid} from amd-smi static, found none`);
  }
  const numaNode = numberAt(facts, 'numa.node');
  return amdGpu({ uuid, productName, memoryBytes, pciBusId, numaNode, ecc: eccOf(facts, metrics) }, renderNodes);
}

function eccOf(facts: Readonly<Fields>, metrics: Readonly<Fields>): Ecc {
  const blocks = at(facts, 'ras.ecc_block_state');
  const correctable = numberAt(metrics, 'ecc.total_correctable_count');
  const uncorrectable = numberAt(metrics, 'ecc.total_uncorrectable_count');
  const isEnabled = isObject(blocks) && Object.values(blocks).includes('ENABLED');
  return {
    mode: isEnabled ? 'enabled' : 'unsupported',
    ...(correctable !== undefined && uncorrectable !== undefined && { volatile: { correctable, uncorrectable } }),
  };
}

/** The readings of `metric` and `process`, for the cards whose uuids are known. */
export function parseAmdReadings(outputs: { metric: string; process?: string; uuids: ReadonlyMap<number, string> }): GpuReading[] {
  const processes = outputs.process === undefined ? new Map<number, Readonly<Fields>>() : entriesOf(outputs.process, 'amd-smi process');
  return [...entriesOf(outputs.metric, 'amd-smi metric')].flatMap(([number, entry]) => {
    const uuid = outputs.uuids.get(number);
    return uuid === undefined ? [] : [readingOf({ uuid, entry, processes: processes.get(number) })];
  });
}

function readingOf({
  uuid,
  entry,
  processes,
}: {
  uuid: string;
  entry: Readonly<Fields>;
  processes: Readonly<Fields> | undefined;
}): GpuReading {
  return {
    uuid,
    ...known({
      utilizationPercent: numberAt(entry, 'usage.gfx_activity'),
      memoryUtilizationPercent: numberAt(entry, 'usage.umc_activity'),
      memoryUsedBytes: bytesAt(entry, 'mem_usage.used_vram'),
      temperatureCelsius: numberAt(entry, 'temperature.hotspot') ?? numberAt(entry, 'temperature.edge'),
      memoryTemperatureCelsius: numberAt(entry, 'temperature.mem'),
      powerWatts: numberAt(entry, 'power.socket_power'),
      smClockMegahertz: numberAt(entry, 'clock.gfx_0.clk'),
      memoryClockMegahertz: numberAt(entry, 'clock.mem_0.clk'),
    }),
    throttle: throttleOf(entry),
    unreadable: [],
    processes: itemsOf(processes?.['process_list']).flatMap((item) => {
      const info = fieldsOf(fieldsOf(item)['process_info']);
      const pid = numberAt(info, 'pid');
      const name = textAt(info, 'name');
      return pid === undefined || pid <= 0
        ? []
        : [{ pid, ...known({ name: name?.slice(0, 256), memoryBytes: bytesAt(info, 'memory_usage.vram_mem') }) }];
    }),
  };
}

const violations: readonly (readonly [string, ThrottleReason])[] = [
  ['ppt', 'software-power-cap'],
  ['prochot', 'hardware-slowdown'],
  ['socket_thermal', 'hardware-thermal'],
  ['vr_thermal', 'hardware-thermal'],
  ['hbm_thermal', 'hardware-thermal'],
];

function throttleOf(entry: Readonly<Fields>): ThrottleReason[] {
  const active = violations.filter(([name]) => textAt(entry, `throttle.${name}_violation_status`) === 'ACTIVE').map(([, reason]) => reason);
  if (active.length > 0) return [...new Set(active)];
  return textAt(entry, 'power.throttle_status') === 'THROTTLED' ? ['other'] : [];
}

function linkGroupsOf(text: string, uuids: ReadonlyMap<number, string>): LinkGroup[] {
  const entries = entriesOf(text, 'amd-smi topology');
  const numbers = [...uuids.keys()];
  const linked = new Set(
    [...entries].flatMap(([from, entry]) =>
      itemsOf(entry['links'])
        .map((link) => fieldsOf(link))
        .filter((link) => link['link_type'] === 'XGMI' && link['link_status'] === 'ENABLED')
        .map((link) => `${from}-${numberAt(link, 'gpu') ?? 'none'}`),
    ),
  );
  const between = (from: number, to: number): number =>
    linked.has(`${numbers[from]}-${numbers[to]}`) && linked.has(`${numbers[to]}-${numbers[from]}`) ? 1 : 0;
  return connectedGroups(numbers.length, between).map(({ members }) => ({
    kind: 'XGMI',
    gpus: members.map((member) => uuids.get(numbers[member]!)!),
  }));
}

/** The uuids by amd-smi's numbers, for samples. */
export function uuidsByNumber(outputs: Pick<AmdOutputs, 'list' | 'static'>): Map<number, string> {
  return uuidsOf(entriesOf(outputs.list, 'amd-smi list'), entriesOf(outputs.static, 'amd-smi static'));
}
