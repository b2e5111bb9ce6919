import type { KubeObject } from '@capstan/machinery/objects';
import type { Strength } from './offering.ts';

/** A tenant's order of an offering, and the nodes and devices that it got. */
export interface Allocation extends KubeObject {
  spec?: AllocationSpec;
  status?: AllocationStatus;
}

export interface AllocationSpec {
  /** The name of an Offering. */
  readonly offering: string;
  /** The number of nodes that get the offering's size each; all of them or none. One if absent. */
  readonly nodes?: number;
  /** Nodes that have the same value of this label. */
  readonly topology?: { readonly label: string; readonly strength: Strength };
  /** Higher goes first. */
  readonly priority?: number;
}

export type AllocationPhase = 'Pending' | 'Active' | 'Releasing' | 'Failed';

export interface AllocationStatus {
  readonly observedGeneration?: number;
  readonly phase?: AllocationPhase;
  /** The attempt whose booking entries count. It is set once, together with `parts`. */
  readonly attempt?: string;
  readonly parts?: readonly AllocatedPart[];
  /** Why it is pending, in one sentence. */
  readonly message?: string;
}

export interface AllocatedPart {
  readonly node: string;
  readonly devices: readonly string[];
}
