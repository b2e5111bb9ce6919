import type { FieldError } from '../field/error.ts';
import { FieldPath, pathWithin } from '../field/path.ts';
import * as status from '../status/status.ts';
import { spend } from '../work/steps.ts';

/** One walk of a validator over a value: its position and the errors found. */
export class Run {
  errors: FieldError[] = [];
  /** How much of a schema matched: if all alternatives fail, the errors of the closest one are reported. */
  matches = 0;
  /** True if there is an old value: errors that it already had and that did not change are ignored. */
  readonly ratchets: boolean;
  /** How many nested alternatives are being tried. */
  trying = 0;
  #steps = 0;
  readonly #base: string;
  readonly #segments: (string | number)[] = [];

  constructor(base: string, ratchets: boolean) {
    this.#base = base;
    this.ratchets = ratchets;
  }

  enter(segment: string | number): void {
    this.#segments.push(segment);
  }

  leave(): void {
    this.#segments.pop();
  }

  get atRoot(): boolean {
    return this.#segments.length === 0;
  }

  /** The path inside the value, as in messages; empty for the value itself. */
  get name(): string {
    return pathWithin(this.#segments);
  }

  /** The path in the object, or of a field there. */
  at(field = ''): FieldPath {
    return this.#place(field === '' ? this.name : pathWithin([...this.#segments, field]));
  }

  /** The path where the walk began: errors about a whole schema rather than one field are reported here. */
  get root(): FieldPath {
    return this.#place('');
  }

  /**
   * Counts work done for alternatives, of which a short schema and object can demand any amount. Throws above the limit. Without
   * alternatives each value is visited once, which costs no more than parsing it.
   */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps <= maxSteps) return;
    throw status.requestTooLarge(`the alternatives in the object's schema apply to more than ${maxSteps} values`);
  }

  /** Whether there are so many errors that continuing is pointless. */
  get isFull(): boolean {
    return this.errors.length >= maxErrors;
  }

  add(error: FieldError): void {
    if (this.isFull) return;
    // The errors of alternatives and of values that did not change are dropped again, so that there may be any number of them.
    const compared = 1 + (error.field.length + error.body.length) / charactersPerStep;
    spend(this.#segments.length + this.errors.length * compared + stepsPerError);
    for (const known of this.errors) if (known.field === error.field && known.body === error.body) return;
    this.errors.push(error);
  }

  #place(inside: string): FieldPath {
    if (inside === '') return FieldPath.of(this.#base === '' ? '<nil>' : this.#base);
    return FieldPath.of(this.#base === '' ? inside : `${this.#base}.${inside}`);
  }
}

/** Nobody reads more, and each new error is compared with all earlier ones. */
const maxErrors = 1000;

const maxSteps = 300_000;

const stepsPerError = 20;

/** Comparing texts is faster than reading them. */
const charactersPerStep = 256;
