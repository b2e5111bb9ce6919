import { Failure } from '../../failure.ts';
import type { Progress } from '../progress.ts';
import type { CommandResult } from '../streams/command.ts';
import type { UnitPod } from '../streams/pod.ts';
import { formatBytes, printable } from '../words.ts';

export interface Copying {
  readonly pod: UnitPod;
  readonly progress: Progress;
  /** Whether an earlier command has begun with it. */
  readonly isContinued?: boolean | undefined;
  /** In milliseconds: how long it is tried without any progress. */
  readonly patience?: number;
}

/** Paths of files are strings of bytes. */
export const bytesOf = (path: string): string => Buffer.from(path).toString('latin1');

/** Shows how many bytes are copied. */
export class Counter {
  readonly #progress: Progress;
  total: number | undefined;
  #sum = 0;
  /** The most that an attempt has copied. */
  best = 0;

  constructor(progress: Progress, total?: number) {
    this.#progress = progress;
    this.total = total;
  }

  restart(): void {
    this.#sum = 0;
  }

  add(count: number): void {
    this.#sum += count;
    this.best = Math.max(this.best, this.#sum);
    const { total } = this;
    const words = total === undefined ? '' : ` of ${formatBytes(total)} (${Math.floor((100 * this.#sum) / Math.max(1, total))} %)`;
    this.#progress.show(`Copying ${formatBytes(this.#sum)}${words}`, { isFleeting: true });
  }
}

export function checkCopied({ code, message }: CommandResult, complaint: string): void {
  if (code === 0 && message === undefined) return;
  const why = printable(complaint.trim().replaceAll('\n', '; ')) || message || `tar ended with ${code}`;
  const hint =
    code === 126 || code === 127 || /not found|no such file.*tar/i.test(message ?? '') ? ' Copying needs the program tar in the unit.' : '';
  throw new Failure('unexpected', `it could not be copied: ${why}.${hint}`);
}
