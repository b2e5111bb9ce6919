import {
  type Allocation,
  type BookingEntry,
  finalNodeUnitPhases,
  type GPUNode,
  type GPUStorage,
  type GPUUnit,
  type GPUUnitStatus,
  type NodeUnit,
  type Offering,
  type UnitMember,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { fencedAfter, type NodeState, nodeOf, nodeStateOf } from './nodes.ts';

/** Everything that a decision about a unit is made from. */
export interface Scene {
  readonly unit: GPUUnit;
  /** In milliseconds. */
  readonly now: number;
  /** All Allocations that the unit owns. */
  readonly allocations: readonly Allocation[];
  /** All NodeUnits of the unit, of all its starts. */
  readonly nodeUnits: readonly NodeUnit[];
  readonly pod: KubeObject | undefined;
  readonly node: (name: string) => GPUNode | undefined;
  /** How long nothing was heard of a node, in milliseconds. */
  readonly silence: (node: string) => number;
  /** The part of a node that an allocation has. */
  readonly booking: (node: string, allocation: Allocation) => BookingEntry | undefined;
  readonly offering: (name: string) => Offering | undefined;
  /** A storage of the namespace. */
  readonly storage: (name: string) => GPUStorage | undefined;
  /** Nodes of which the server itself has said that they have no NodeUnit of the current start. */
  readonly absent: ReadonlySet<string>;
  /** Nodes whose bookings were read from the server. */
  readonly readBookings: ReadonlySet<string>;
  /** Nodes that were sent the secrets of the current start. */
  readonly sent: ReadonlySet<string>;
  /** Another Pod has the name of the unit. */
  readonly isPodTaken: boolean;
  /** Whether the Secrets and ConfigMaps of the unit were looked at, and the first that is missing. */
  readonly configuration: Configuration;
}

export type Configuration =
  | { readonly kind: 'unread' }
  | { readonly kind: 'complete' }
  | { readonly kind: 'missing'; readonly message: string };

/** The current start on one node. */
export interface Place {
  readonly rank: number;
  readonly node: string;
  readonly nodeUnit: NodeUnit | undefined;
  readonly state: NodeState;
  /** Its last report says that nothing runs, and nothing will. */
  readonly isFinal: boolean;
  /** Nothing runs there: it is final, or its node is lost, or the agent has ended it by itself. */
  readonly isOver: boolean;
}

const overPhases: ReadonlySet<string> = new Set(['Stopped', 'Succeeded', 'Failed']);

/** Whether the last start has ended, and its outcome is recorded. */
export function isOver(status: GPUUnitStatus | undefined): boolean {
  return overPhases.has(status?.phase ?? '');
}

export function isFinal(nodeUnit: NodeUnit): boolean {
  return finalNodeUnitPhases.has(nodeUnit.status?.phase ?? '');
}

/** Whether nothing of a NodeUnit runs, and nothing will. */
export function isNodeUnitOver(nodeUnit: NodeUnit, scene: Pick<Scene, 'node' | 'silence'>): boolean {
  const node = nodeOf(nodeUnit);
  if (isFinal(nodeUnit) || nodeStateOf(scene.node(node)).kind === 'lost') return true;
  const fence = fencedAfter(nodeUnit);
  // An agent that comes back must not start it, so it has to be stopped in the API before its end counts.
  return fence !== undefined && nodeUnit.spec.stopped && scene.silence(node) >= fence;
}

/** The nodes of the current start; empty before they are known. */
export function placesOf(scene: Scene): Place[] {
  const { run = 0, members = [] } = scene.unit.status ?? {};
  const current = new Map(scene.nodeUnits.filter(({ spec }) => spec.run === run).map((one) => [nodeOf(one), one]));
  return members.map(({ rank, node }: UnitMember): Place => {
    const nodeUnit = current.get(node);
    const state = nodeStateOf(scene.node(node));
    const final = nodeUnit !== undefined && isFinal(nodeUnit);
    const over = nodeUnit === undefined ? state.kind === 'lost' || scene.absent.has(node) : isNodeUnitOver(nodeUnit, scene);
    return { rank, node, nodeUnit, state, isFinal: final, isOver: over };
  });
}

export function allocationOf({ unit, allocations }: Scene): Allocation | undefined {
  return allocations.find(({ metadata }) => metadata.name === unit.status?.allocation);
}
