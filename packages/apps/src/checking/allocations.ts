import type { Allocation, NodeBooking } from '@capstan/api';
import { isDeleting } from '@capstan/controller';

/** An allocation, as far as an instance can use it. */
export type AllocationUse =
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'waiting'; readonly message: string }
  /** It will never be of use: it has several nodes, ends, or shares its node. */
  | { readonly kind: 'unusable'; readonly code: string; readonly message: string }
  | { readonly kind: 'usable'; readonly node: string; readonly uid: string };

/** `booking` returns the booking of a node. Only the entry of the attempt that counts proves that the node is the allocation's own. */
export function useOf(name: string, allocation: Allocation | undefined, booking: (node: string) => NodeBooking | undefined): AllocationUse {
  if (allocation === undefined) return { kind: 'missing', message: `there is no Allocation ${name} in the namespace of the instance` };
  const { metadata, spec, status } = allocation;
  if (isDeleting(allocation)) return { kind: 'unusable', code: 'AllocationEnding', message: `the Allocation ${name} is being deleted` };
  if (status?.phase === 'Failed')
    return { kind: 'unusable', code: 'AllocationFailed', message: `the Allocation ${name} has failed: ${status.message ?? ''}` };
  if (spec.nodes !== 1)
    return {
      kind: 'unusable',
      code: 'SeveralNodes',
      message: `the Allocation ${name} has ${spec.nodes} nodes; a member needs one of its own`,
    };
  const [part] = status?.parts ?? [];
  if (status?.phase !== 'Active' || part === undefined)
    return {
      kind: 'waiting',
      message: `waits for the Allocation ${name}, which is ${status?.phase ?? 'Pending'}${status?.message ? `: ${status.message}` : ''}`,
    };
  const entry = booking(part.node)?.spec.entries.find(
    (one) => (one.allocation.uid as string) === metadata.uid && one.attempt === status.attempt && one.state === 'Granted',
  );
  if (entry === undefined) return { kind: 'waiting', message: `waits for the booking of the Allocation ${name}` };
  if (entry.exclusive !== true)
    return {
      kind: 'unusable',
      code: 'NotExclusive',
      message: `the Allocation ${name} shares its node with others; order an offering that gives a whole node`,
    };
  return { kind: 'usable', node: part.node, uid: metadata.uid ?? '' };
}
