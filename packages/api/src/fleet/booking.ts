import { objectName } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, list, object, optional, type ReadOf, type Required, text } from '../definition/schema.ts';
import { fleetGroup } from './fields.ts';

declare const allocationIdBrand: unique symbol;

/** The uid of an Allocation. */
export type AllocationId = string & { readonly [allocationIdBrand]: true };

export const asAllocationId = (uid: string): AllocationId => uid as AllocationId;

/** The states of something that is booked. Free is the absence of an entry. */
export const bookingStates = ['Held', 'Granted', 'Releasing', 'Cleaning'] as const;
export type BookingState = (typeof bookingStates)[number];

const mostDevices = 1024;
const mostNodes = 1024;

const amounts = {
  devices: list('UUIDs of the GPUs, or of their MIG instances.', text('UUID of a GPU or a MIG instance.', { maxLength: 128 }), {
    maxItems: mostDevices,
  }),
  cpu: integer('Processor time, in thousandths of a core.', { minimum: 0 }),
  memory: integer('Memory, in bytes.', { minimum: 0 }),
};

const part = object('Part of an allocation on one node.', { node: objectName('Name of the node.'), ...amounts });

const allocation = object('The Allocation that the entry belongs to.', {
  cluster: text('Id of its workspace.', { minLength: 1, maxLength: 253 }),
  path: optional(text('Path of its workspace, if it was known.', { maxLength: 1024 })),
  namespace: text('Its namespace.', { minLength: 1, maxLength: 63 }),
  name: text('Its name.', { minLength: 1, maxLength: 253 }),
  uid: text('Its UID.', { minLength: 1, maxLength: 64 }) as Required<AllocationId>,
});

const stock = object('Set if nobody has ordered it yet: a warm unit, which the platform keeps for the next order of an offering.', {
  offering: objectName('Name of the Offering.'),
  image: optional(text('Image that the node has pulled in advance.', { maxLength: 1024 })),
  request: text('Hash of what the offering gave when it was booked.', { maxLength: 64 }),
});

const entry = object('Something that one allocation has on the node.', {
  allocation,
  attempt: text(
    'One try to place the allocation. A crash can leave entries of several tries; the status of the Allocation names the one that counts.',
    { minLength: 1, maxLength: 64 },
  ),
  state: choice('State of the entry. An entry that became free is removed.', bookingStates),
  ...amounts,
  exclusive: optional(flag('Nothing else may be booked on the node.')),
  stock: optional(stock),
  gang: optional(
    list('All parts of an allocation with several nodes, the same in the booking of each. The first decides for all.', part, {
      minItems: 2,
      maxItems: mostNodes,
    }),
  ),
});

export type AllocationReference = ReadOf<typeof allocation>;
export type BookedPart = ReadOf<typeof part>;
export type BookingEntry = ReadOf<typeof entry>;
export type StockMark = ReadOf<typeof stock>;

export const nodeBookingKind = defineKind({
  group: fleetGroup,
  kind: 'NodeBooking',
  plural: 'nodebookings',
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'Says which allocations have what of the node with the same name. Only the scheduler reads and writes it: a grant is one compare-and-swap on this object, so ' +
    'that no device is given away twice.',
  versions: {
    v1alpha1: {
      spec: object('The bookings.', {
        entries: list('At most one entry for each try of an allocation. No device is in two of them.', entry, { maxItems: 1024 }),
      }),
    },
  },
});

export type NodeBooking = ObjectOf<typeof nodeBookingKind>;
export type NodeBookingSpec = NodeBooking['spec'];
