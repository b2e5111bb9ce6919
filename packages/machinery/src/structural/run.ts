import type { FieldError } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import * as status from '../status/status.ts';

/** One walk of a validator over a value: where it is, and what it found. */
export class Run {
  errors: FieldError[] = [];
  /** How much of a schema fitted: of several alternatives that all fail, the one that fitted best is reported. */
  matches = 0;
  /** True when there is an old value: what was wrong before and did not change is let through. */
  readonly ratchets: boolean;
  /** How many alternatives are being tried, one within the other. */
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

  /** The place inside the value, as messages name it; empty for the value itself. */
  get name(): string {
    let name = '';
    for (const segment of this.#segments) name += typeof segment === 'number' ? `[${segment}]` : name === '' ? segment : `.${segment}`;
    return name;
  }

  /** The place in the object; of the field inside it when one is given. */
  at(field = ''): FieldPath {
    const name = this.name;
    const inside = field === '' ? name : name === '' ? field : `${name}.${field}`;
    return this.#place(inside);
  }

  /** What concerns a whole schema and not one field is reported at the place where the walk began. */
  get root(): FieldPath {
    return this.#place('');
  }

  /**
   * Counts what is done for alternatives: a short schema and a short object can ask for any amount of it. Throws when it is too much; what has none is looked
   * at once, and costs no more than to read it.
   */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps <= maxSteps) return;
    throw status.requestTooLarge(`the alternatives in the schema of the object would have to be tried on more than ${maxSteps} values`);
  }

  /** Whether so much is wrong that looking further is of no use. */
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

/** Nobody reads more, and each is compared with those before it. */
const maxErrors = 1000;

const maxSteps = 300_000;
