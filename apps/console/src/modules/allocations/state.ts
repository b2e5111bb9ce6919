import type { Allocation } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';
import { count } from '../format/format.ts';

export interface AllocationState {
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string;
}

export function stateOf({ metadata, status }: Allocation): AllocationState {
  const { phase = 'Pending', message = '' } = status ?? {};
  if (metadata.deletionTimestamp !== undefined) return { tone: 'busy', word: 'Releasing', reason: 'its devices are being released' };
  const tone = ({ Pending: 'warn', Active: 'good', Releasing: 'busy', Failed: 'bad' } as const)[phase];
  return { tone, word: phase === 'Pending' ? 'Waiting' : phase, reason: message };
}

/** Waiting: in the queue. Granted: it has its devices. Over: it gives them back, or will never have any. */
export type AllocationStanding = 'waiting' | 'granted' | 'over';

export function standingOf(allocation: Allocation): AllocationStanding {
  const { word } = stateOf(allocation);
  if (word === 'Waiting') return 'waiting';
  return word === 'Active' ? 'granted' : 'over';
}

/** Its nodes and the number of their GPUs: `gpu-1 (4 GPUs)`. */
export function partsOf({ status }: Allocation): string {
  return (status?.parts ?? [])
    .map(({ node, devices }) => (devices.length === 0 ? node : `${node} (${count(devices.length, 'GPU')})`))
    .join(', ');
}

/** The object that ordered it, such as a unit. */
export function ownerOf({ metadata }: Allocation): { readonly kind: string; readonly name: string } | undefined {
  const owner = metadata.ownerReferences?.[0];
  return owner === undefined ? undefined : { kind: owner.kind, name: owner.name };
}

/** The order in which the queue is served, as far as one workspace can tell: by priority, then by age. */
export function byTurn(one: Allocation, other: Allocation): number {
  return (
    other.spec.priority - one.spec.priority || (one.metadata.creationTimestamp ?? '').localeCompare(other.metadata.creationTimestamp ?? '')
  );
}
