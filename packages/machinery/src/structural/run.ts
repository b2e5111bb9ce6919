import type { FieldError } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';

/** One walk of a validator over a value: where it is, and what it found. */
export class Run {
  errors: FieldError[] = [];
  /** How much of a schema fitted: of several alternatives that all fail, the one that fitted best is reported. */
  matches = 0;
  /** True when there is an old value: what was wrong before and did not change is let through. */
  readonly ratchets: boolean;
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

  /** Whether so much is wrong that looking further is of no use. */
  get isFull(): boolean {
    return this.errors.length >= maxErrors;
  }

  add(error: FieldError): void {
    if (this.isFull) return;
    for (const known of this.errors) if (known.body === error.body && known.field === error.field) return;
    this.errors.push(error);
  }

  #place(inside: string): FieldPath {
    if (inside === '') return FieldPath.of(this.#base === '' ? '<nil>' : this.#base);
    return FieldPath.of(this.#base === '' ? inside : `${this.#base}.${inside}`);
  }
}

/** Nobody reads more, and each is compared with those before it. */
const maxErrors = 1000;
