import type { GPUNode, NodeUnit } from '@capstan/api';
import { millisecondsIn, nodeOfNamespace } from '@capstan/api';
import { findCondition } from '@capstan/controller';

/** A node, as far as the units on it are concerned. */
export type NodeState =
  | { readonly kind: 'heard' }
  /** Nothing is known about its programs: they may run. */
  | { readonly kind: 'silent'; readonly since: string }
  /** Nothing runs there: an owner has said so, or has removed the node. */
  | { readonly kind: 'lost' };

/** `Ready` is False if the agent itself says that something is wrong, so only Unknown means silence. A node that is removed while it is silent will never be heard again. */
export function nodeStateOf(node: GPUNode | undefined): NodeState {
  if (node === undefined || node.spec?.lost === true) return { kind: 'lost' };
  const ready = findCondition(node.status?.conditions, 'Ready');
  if (ready !== undefined && ready.status !== 'Unknown') return { kind: 'heard' };
  if (node.metadata.deletionTimestamp !== undefined) return { kind: 'lost' };
  return { kind: 'silent', since: ready?.lastTransitionTime ?? node.metadata.creationTimestamp ?? '' };
}

export function nodeOf({ metadata }: NodeUnit): string {
  return nodeOfNamespace(metadata.namespace ?? '') ?? '';
}

/** The address at which other nodes reach a node. */
export function addressOf(node: GPUNode | undefined, name: string): string {
  const addresses = node?.status?.addresses ?? [];
  const found = addresses.find(({ address, interface: link }) => link !== 'lo' && !address.startsWith('127.') && !address.includes(':'));
  return (found ?? addresses[0])?.address ?? name;
}

/** In milliseconds: covers clocks that run at different speeds, and the way from the Lease to this process. */
const leastMargin = 30_000;

/**
 * How long after the last sign of life of its node a unit has surely ended, in milliseconds; undefined if its agent was never told to end it. The agent counts from
 * when it sent the last renewal of its Lease that succeeded; this process counts from when it saw that renewal, which is later.
 */
export function fencedAfter({ spec }: NodeUnit): number | undefined {
  if (spec.fenceAfter === undefined) return undefined;
  const own = millisecondsIn(spec.fenceAfter) + millisecondsIn(spec.stopGrace);
  return own + Math.max(leastMargin, own / 10);
}
