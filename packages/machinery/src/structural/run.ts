import type { FieldError } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import * as status from '../status/status.ts';

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
    let name = '';
    for (const segment of this.#segments) name += typeof segment === 'number' ? `[${segment}]` : name === '' ? segment : `.${segment}`;
    return name;
  }

  /** The path in the object, or of a field there. */
  at(field = ''): FieldPath {
    const name = this.name;
    const inside = field === '' ? name : name === '' ? field : `${name}.${field}`;
    return this.#place(inside);
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
