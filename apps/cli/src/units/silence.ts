import type { GPUUnit } from '@capstan/api';
import { phaseOf, progressOf } from './state.ts';
import type { Units } from './units.ts';
import { watchUnit } from './watch.ts';

/** Says when the node of a unit falls silent, and when it is heard again: its output waits for that. */
export class Silence {
  readonly #say: (text: string) => void;
  #isSilent = false;

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  see(unit: GPUUnit): void {
    const isSilent = phaseOf(unit) === 'Unknown';
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    this.#say(isSilent ? `${progressOf(unit)}. The output goes on when the node is back.` : 'The node is heard again.');
  }
}

/** Says so until it is disposed of. */
export function watchSilence(units: Units, name: string, say: (text: string) => void): Disposable {
  const stop = new AbortController();
  const silence = new Silence(say);
  const watching = async (): Promise<void> => {
    for await (const unit of watchUnit(units, { name, signal: stop.signal })) silence.see(unit);
  };
  // A user without the right to watch the unit still gets its output.
  watching().catch(() => {});
  return { [Symbol.dispose]: () => stop.abort() };
}
