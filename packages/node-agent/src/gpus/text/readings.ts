import { readMeasure } from './measure.ts';

/** Reads fields of one card and remembers which of them the driver could not read. */
export class FieldReader {
  readonly unreadable: string[] = [];
  readonly #text: (name: string) => string | undefined;

  constructor(text: (name: string) => string | undefined) {
    this.#text = text;
  }

  /** Undefined if the card does not have the field or it cannot be read. */
  number(name: string, unit: string): number | undefined {
    const measure = readMeasure(this.#text(name), unit);
    if (measure.kind === 'unreadable') this.unreadable.push(name);
    return measure.kind === 'value' ? measure.value : undefined;
  }

  /** A number that cannot be negative, such as a counter or an amount of memory. */
  amount(name: string, unit: string): number | undefined {
    const value = this.number(name, unit);
    if (value === undefined || value >= 0) return value;
    this.unreadable.push(name);
    return undefined;
  }
}

/** The object without its undefined fields, so that absent readings are absent. */
export function known<Value extends object>(value: Value): { [Key in keyof Value]?: Exclude<Value[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as {
    [Key in keyof Value]?: Exclude<Value[Key], undefined>;
  };
}

export function times(amount: number | undefined, factor: number): number | undefined {
  return amount === undefined ? undefined : Math.round(amount * factor);
}
