import type { AllocationReference } from '@capstan/api';

const gibibyte = 2 ** 30;

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** `default/training in root:acme`. The path of the workspace may be unknown. */
export function allocationWords({ namespace, name, path, cluster }: AllocationReference): string {
  return `${namespace}/${name} in ${path ?? cluster}`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function gibibytes(bytes: number): string {
  return `${Math.round((10 * bytes) / gibibyte) / 10} GiB`;
}

/** Thousandths of a core as `12 CPUs`. */
export function cpus(thousandths: number): string {
  return counted(Math.max(0, thousandths) / 1000, 'CPU');
}
