import type { GPUStorage } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';

const tones: Readonly<Record<string, Tone>> = {
  Pending: 'warn',
  Preparing: 'busy',
  Ready: 'good',
  Resizing: 'busy',
  Failed: 'bad',
  Deleting: 'busy',
};

export interface StorageState {
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string;
}

export function stateOf({ metadata, status, spec }: GPUStorage): StorageState {
  const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Pending') : 'Deleting';
  const message = status?.message ?? '';
  // A storage that no unit has mounted yet waits for nobody: it gets its node with the first one.
  if (phase === 'Pending' && status?.node === undefined && spec.node === undefined)
    return { tone: 'idle', word: 'Unused', reason: message || 'it gets its node with the first unit that mounts it' };
  return { tone: tones[phase] ?? 'idle', word: phase, reason: message };
}

/** The share that is used, from 0 to 1; undefined if it is not known. */
export function usedShare({ status }: GPUStorage): number | undefined {
  const { usedBytes, capacityBytes } = status ?? {};
  return usedBytes === undefined || capacityBytes === undefined || capacityBytes === 0 ? undefined : Math.min(1, usedBytes / capacityBytes);
}
