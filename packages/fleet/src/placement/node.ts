import type { BookingState, GpuHealthState } from '@capstan/api';

/** A node as placement sees it: the owner's wishes and the agent's reports in one. */
export interface FleetNode {
  readonly name: string;
  readonly pool: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly cordoned: boolean;
  /** `Unknown` after silence: nothing new goes there, and nothing else happens. */
  readonly ready: 'True' | 'False' | 'Unknown';
  /** In thousandths of a core. */
  readonly cpu: number;
  /** In bytes. */
  readonly memory: number;
  readonly gpus: readonly Device[];
  /** Something of a former allocation could not be removed. */
  readonly isUnclean?: boolean;
}

/** A GPU, or one of its MIG instances: a GPU that is divided is listed as its instances only. */
export interface Device {
  readonly uuid: string;
  readonly model: string;
  /** In bytes. */
  readonly memory: number;
  /** GPUs of a node with the same group are connected by NVLink. */
  readonly nvlink?: string;
  readonly numa?: number;
  readonly health: GpuHealthState;
  /** `1g.10gb`, for an instance. */
  readonly migProfile?: string;
}

/** Something of a node that is not free. An entry of a NodeBooking is one. */
export interface Booked {
  readonly devices: readonly string[];
  readonly cpu: number;
  readonly memory: number;
  readonly exclusive?: boolean;
  readonly state?: BookingState;
  /** Nobody has it: people reserved it, or the queue keeps it for a request that has waited long. */
  readonly kept?: 'reserved' | 'held';
}

/** A node's part of an answer. */
export interface PlacedPart extends Booked {
  readonly node: string;
}

export function labelOf({ labels }: FleetNode, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

/** Degraded devices work and need attention. */
export function isUsable({ health }: Device): boolean {
  return health === 'Healthy' || health === 'Degraded';
}
