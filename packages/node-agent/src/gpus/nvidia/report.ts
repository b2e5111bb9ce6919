import type { Gpu, GpuReading, GpuReport, LinkGroup, UnreachableGpu } from '@capstan/api';
import { excerpt, GpuError } from '../errors.ts';
import { connectedGroups } from '../text/groups.ts';
import { unbracketed, unreachableIn } from '../text/measure.ts';
import { gpuOf } from './card.ts';
import { parseList } from './list.ts';
import { readingOf } from './reading.ts';
import { parseTopology, type Topology } from './topology.ts';
import { childrenAt, type Element, parseXml, textAt } from './xml.ts';

export interface NvidiaOutputs {
  /** The output of `nvidia-smi -q -x`, both streams together. */
  readonly query: string;
  /** The output of `nvidia-smi topo -m`. */
  readonly topology?: string;
  /** The output of `nvidia-smi -L`; needed if a card is divided into MIG devices. */
  readonly list?: string;
  readonly observedAt: number;
}

/**
 * The report of one run of nvidia-smi. It throws rather than return fewer GPUs than there are: cards that the driver cannot reach are in `unreachable`, and a
 * count that does not add up is an error.
 */
export function parseNvidiaReport({ query, topology, list, observedAt }: NvidiaOutputs): GpuReport {
  const root = parseLog(query);
  const cards = childrenAt(root, 'gpu').map((element) => ({
    element,
    card: gpuOf(element, list === undefined ? undefined : parseList(list)),
  }));
  const unreachable = unreachableOf(
    query,
    cards.flatMap(({ card }) => ('why' in card ? [card] : [])),
  );
  const readable = cards.flatMap(({ element, card }) => ('why' in card ? [] : [{ element, gpu: card }]));
  checkCount(root, readable.length + unreachable.length);
  checkUnique(readable.map(({ gpu }) => gpu));
  const gpus = withTopology(
    readable.map(({ gpu }) => gpu),
    // The indices of the matrix are those of the cards that the tool can reach, so it fits only if none is lost.
    topology === undefined || unreachable.length > 0 ? undefined : parseTopology(topology),
  );
  return {
    source: 'nvidia',
    ...versionsOf(root),
    ...gpus,
    unreachable,
    observedAt,
    readings: readable.map(({ element, gpu }): GpuReading => readingOf(element, gpu)),
  };
}

/** Lines beside the XML are messages about single cards, or the reason why there is no XML. */
function parseLog(query: string): Element {
  const start = query.indexOf('<?xml');
  const close = '</nvidia_smi_log>';
  const end = query.lastIndexOf(close);
  if (start === -1) throw failureOf(query);
  if (end < start) throw new GpuError('Incomplete', 'expected </nvidia_smi_log>, found the end of the output of nvidia-smi');
  const root = parseXml(query.slice(start, end + close.length));
  if (root.name !== 'nvidia_smi_log') throw new GpuError('Malformed', `expected <nvidia_smi_log>, found <${excerpt(root.name)}>`);
  return root;
}

/** The error for output of nvidia-smi that is nothing but a message. */
export function failureOf(output: string): GpuError {
  const said = `nvidia-smi says "${excerpt(output)}"`;
  const unreachable = unreachableIn(output);
  if (unreachable.length > 0) return new GpuError('Unreachable', said, { unreachable });
  if (/^No devices (?:were )?found/im.test(output)) return new GpuError('NoDevices', said);
  if (/Failed to initialize NVML|couldn't communicate with the NVIDIA driver/i.test(output)) return new GpuError('DriverUnavailable', said);
  const field = /Field "([^"\n]{1,100})" is not a valid field/.exec(output)?.[1];
  if (field !== undefined) return new GpuError('UnknownField', said, { field });
  return output.trim() === '' ? new GpuError('Incomplete', 'nvidia-smi printed nothing') : new GpuError('Malformed', said);
}

function unreachableOf(query: string, unidentified: readonly UnreachableGpu[]): UnreachableGpu[] {
  const byBus = new Map(unidentified.map((one) => [one.pciBusId, one]));
  for (const one of unreachableIn(query)) byBus.set(one.pciBusId, one);
  return [...byBus.values()];
}

function checkCount(root: Element, found: number): void {
  const attached = Number(textAt(root, 'attached_gpus'));
  if (!Number.isInteger(attached)) throw new GpuError('Malformed', 'expected the number of attached GPUs, found none');
  if (found < attached) throw new GpuError('Incomplete', `nvidia-smi counts ${attached} GPUs and describes ${found}`);
}

function checkUnique(gpus: readonly Gpu[]): void {
  for (const key of ['uuid', 'pciBusId'] as const) {
    const values = gpus.map((gpu) => gpu[key]);
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    if (twice !== undefined) throw new GpuError('Malformed', `expected each GPU once, found ${excerpt(twice)} twice`);
  }
}

function versionsOf(root: Element): Pick<GpuReport, 'driverVersion' | 'runtime'> {
  const version = (path: string): string | undefined => /^\d[\w.]{0,40}$/.exec(unbracketed(textAt(root, path) ?? ''))?.[0];
  const driver = version('driver_version');
  const cuda = version('cuda_version');
  return {
    ...(driver !== undefined && { driverVersion: driver }),
    ...(cuda !== undefined && { runtime: { name: 'CUDA', version: cuda } }),
  };
}

function withTopology(gpus: readonly Gpu[], topology: Topology | undefined): { gpus: readonly Gpu[]; linkGroups: readonly LinkGroup[] } {
  if (topology === undefined) return { gpus, linkGroups: [] };
  if (topology.gpus.length !== gpus.length) {
    throw new GpuError('Incomplete', `nvidia-smi -q describes ${gpus.length} GPUs and topo -m ${topology.gpus.length}`);
  }
  return {
    gpus: gpus.map((gpu, index) => ({ ...gpu, ...topology.gpus[index] })),
    linkGroups: connectedGroups(gpus.length, (from, to) => topology.links[from]![to]!).map(({ members, links }) => ({
      kind: 'NVLink',
      gpus: members.map((member) => gpus[member]!.uuid),
      links,
    })),
  };
}
