import { createHash } from 'node:crypto';
import {
  asAllocationId,
  type BookingEntry,
  type NodeUnit,
  newObject,
  nodeNamespace,
  nodeUnitKind,
  nodeUnitName,
  type Offering,
  platformWorkspace,
  type StockMark,
} from '@capstan/api';
import { type PlacementRequest, requestFor } from '@capstan/fleet';

/** A warm unit: an entry of a booking that belongs to no allocation. */
export interface WarmUnit {
  readonly node: string;
  readonly entry: BookingEntry & { readonly stock: StockMark };
}

/** The stock that an owner wants of an offering. */
export interface WantedStock {
  readonly mark: StockMark;
  readonly units: number;
  readonly request: PlacementRequest;
}

const namespace = 'default';

export function isWarmUnit(entry: BookingEntry): entry is WarmUnit['entry'] {
  return entry.stock !== undefined;
}

export function wantedStock({ metadata: { name = '' }, spec }: Offering): WantedStock | undefined {
  if (spec.stock === undefined) return undefined;
  const { units, image } = spec.stock;
  const request = requestFor(spec, { nodes: 1 });
  const hash = createHash('sha256').update(JSON.stringify(request)).digest('hex').slice(0, 16);
  return { units, request, mark: { offering: name, ...(image !== undefined && { image }), request: hash } };
}

export function isSameMark(one: StockMark, other: StockMark): boolean {
  return one.offering === other.offering && one.image === other.image && one.request === other.request;
}

/** The entry of a new warm unit. Its reference names the platform until somebody takes it. */
export function newEntry(
  { mark }: WantedStock,
  part: Pick<BookingEntry, 'devices' | 'cpu' | 'memory' | 'exclusive'>,
  id: string,
): Omit<WarmUnit['entry'], 'state'> {
  const { devices, cpu, memory, exclusive } = part;
  return {
    allocation: { cluster: platformWorkspace, namespace, name: `stock-${mark.offering}`.slice(0, 253), uid: asAllocationId(id) },
    attempt: id,
    devices,
    cpu,
    memory,
    ...(exclusive && { exclusive }),
    stock: mark,
  };
}

/** Has the node prepared. An agent that does not know warm units would run `true`. */
export function warmNodeUnit({ node, entry }: WarmUnit): NodeUnit {
  const { allocation, devices, cpu, memory, exclusive = false, stock } = entry;
  const { cluster, name, uid } = allocation;
  const spec = {
    owner: { cluster, namespace, name, uid },
    run: 1,
    allocation: uid,
    devices,
    cpu: exclusive ? 0 : cpu,
    memory: exclusive ? 0 : memory,
    exclusive,
    command: ['true'],
    ...(stock.image !== undefined && { image: stock.image }),
    warm: true,
  };
  return newObject(nodeUnitKind, { metadata: warmName({ node, entry }), spec }) as NodeUnit;
}

export function warmName({ node, entry }: WarmUnit): { readonly name: string; readonly namespace: string } {
  return { name: nodeUnitName(entry.allocation.uid, 1), namespace: nodeNamespace(node) };
}
