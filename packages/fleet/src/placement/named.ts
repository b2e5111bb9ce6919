import { demandOn, fits, takeFrom } from './demand.ts';
import { type Device, isUsable, labelOf, type PlacedPart } from './node.ts';
import type { NodeRecord, Stock } from './node-record.ts';
import { type NamedTarget, type PlacementRequest, wantsGpus } from './request.ts';
import { isShapeFor } from './shape.ts';

/** Places on the node that the request names, or says why not. */
export function placeNamed(request: PlacementRequest, target: NamedTarget, record: NodeRecord | undefined): PlacedPart | string {
  if (request.nodes !== 1) return `names the node ${target.node}, but needs ${request.nodes} nodes`;
  if (record === undefined) return `there is no node ${target.node}`;
  if (!target.repair && !isOffered(request, record)) return `${target.node} is not one of the nodes of the offering`;
  if (record.node.ready !== 'True') return `${target.node} is ${record.node.ready === 'Unknown' ? 'silent' : 'not ready'}`;
  if (record.node.cordoned && !target.repair) return `${target.node} is cordoned`;
  return target.devices === undefined
    ? placeAnywhereOn(request, record)
    : placeOnDevices(request, { ...target, devices: target.devices }, record);
}

/** A request that names a node gets that node under the same rules as every other request. */
function isOffered({ pools, matchLabels = {} }: PlacementRequest, { node }: NodeRecord): boolean {
  return (
    (pools === undefined || pools.includes(node.pool)) &&
    Object.entries(matchLabels).every(([label, value]) => labelOf(node, label) === value)
  );
}

function placeAnywhereOn({ size }: PlacementRequest, record: NodeRecord): PlacedPart | string {
  const isLinked = size.gpu.nvlink === 'required';
  const stocks = wantsGpus(size) ? record.stocks.filter(({ shape }) => isShapeFor(shape, size)) : [record.whole];
  const stock = stocks.find((one) => fits(record, one, { size, isLinked }));
  if (stock !== undefined) return takeFrom(record, stock, size);
  const { name } = record;
  if (stocks.length === 0) return `${name} does not have such GPUs`;
  if (size.kind === 'node') return record.isEmpty ? `${name} has fewer than ${size.count} healthy GPUs` : `${name} is in use`;
  return `${name} has too little free: ${stocks.map(({ free }) => free.length).join(' or ')} GPUs, ${record.freeCpu / 1000} CPUs`;
}

function placeOnDevices(
  { size }: PlacementRequest,
  { devices, repair }: NamedTarget & { readonly devices: readonly string[] },
  record: NodeRecord,
): PlacedPart | string {
  const { name } = record;
  const { gpus: known } = record.whole;
  const gpus = devices.map((uuid) => known.find((gpu) => gpu.uuid === uuid));
  const missing = gpus.indexOf(undefined);
  if (missing >= 0) return `${name} has no GPU ${devices[missing]}`;
  if (new Set(devices).size < devices.length) return 'names a GPU twice';
  const taken = new Set(record.bookings.values().flatMap((one) => one.devices));
  const isWhole = record.bookings.values().some(({ exclusive }) => exclusive);
  for (const device of gpus as Device[]) {
    const { uuid, health } = device;
    if (isWhole || taken.has(uuid)) return `${uuid} on ${name} is in use`;
    if (!repair && !isUsable(device)) return `the health of ${uuid} on ${name} is ${health}`;
  }
  const stock = stockOf(record, gpus as Device[]);
  if (stock === undefined || (stock !== record.whole && !isShapeFor(stock.shape, size)))
    return `the named GPUs of ${name} are not of the kind that is needed`;
  const demand = demandOn(size, record, stock.shape)!;
  if (size.kind === 'node') return `a whole node is needed, but single GPUs of ${name} are named`;
  if (demand.gpus !== devices.length) return `needs ${demand.gpus} GPUs, but names ${devices.length}`;
  if (demand.cpu > record.freeCpu || demand.memory > record.freeMemory) return `${name} has too little cpu or memory free`;
  if (size.gpu.nvlink === 'required' && new Set((gpus as Device[]).map(({ nvlink, uuid }) => nvlink ?? `/${uuid}`)).size > 1)
    return `the named GPUs of ${name} are not connected by NVLink`;
  return { node: name, devices, cpu: demand.cpu, memory: demand.memory };
}

function stockOf(record: NodeRecord, gpus: readonly Device[]): Stock | undefined {
  if (gpus.length === 0) return record.whole;
  return record.stocks.find((stock) => gpus.every((gpu) => stock.gpus.includes(gpu)));
}
