import type { KubeObject } from '@capstan/machinery/objects';

declare const allocationIdBrand: unique symbol;

/** The uid of an Allocation. */
export type AllocationId = string & { readonly [allocationIdBrand]: true };

export const asAllocationId = (uid: string): AllocationId => uid as AllocationId;

/** Says who has what on one node. It lies in `root:platform`, has the name of the node, and only the scheduler writes it. */
export interface NodeBooking extends KubeObject {
  spec?: NodeBookingSpec;
}

export interface NodeBookingSpec {
  /** At most one for each allocation and attempt. No device is in two of them. */
  readonly entries: readonly BookingEntry[];
}

/** A state of something that is booked. Free is the absence of an entry. */
export type BookingState = 'Held' | 'Granted' | 'Releasing' | 'Cleaning';

export interface BookingEntry {
  readonly allocation: AllocationReference;
  /** One try to place the allocation. After a crash, entries of different tries can exist; the status of the allocation names the one that counts. */
  readonly attempt: string;
  readonly state: BookingState;
  /** The uuids of the GPUs or of their MIG instances. */
  readonly devices: readonly string[];
  /** In thousandths of a core. */
  readonly cpu: number;
  /** In bytes. */
  readonly memory: number;
  /** Nothing else may be booked on the node. */
  readonly exclusive?: boolean;
  /** All parts of the allocation if it has several nodes, this one included, the same in each booking. The first decides for all. */
  readonly gang?: readonly BookedPart[];
}

/** Part of an allocation on one node. */
export interface BookedPart {
  readonly node: string;
  readonly devices: readonly string[];
  readonly cpu: number;
  readonly memory: number;
}

export interface AllocationReference {
  /** The id of the tenant's workspace. */
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: AllocationId;
}
