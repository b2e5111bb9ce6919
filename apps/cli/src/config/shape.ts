import { complain, type Entry, type Node, type Source } from './document.ts';

/** Checks and converts one value of a configuration file. The error message quotes `expected`. */
export type Shape<Value> = (node: Node, source: Source) => Value;

type Fields = Readonly<Record<string, Shape<unknown>>>;
export type Section<F extends Fields> = { readonly [Key in keyof F]?: F[Key] extends Shape<infer Value> ? Value : never };

export function text(expected: string): Shape<string> {
  return (node, source) => {
    if (node.kind !== 'scalar' || node.text === '') throw wrong(source, node, expected);
    return node.text;
  };
}

export function wholeNumber(from: number, to: number): Shape<number> {
  const expected = `a whole number from ${from} to ${to}`;
  return (node, source) => {
    const value = node.kind === 'scalar' && /^-?\d+$/.test(node.text) ? Number(node.text) : Number.NaN;
    if (!(value >= from && value <= to)) throw wrong(source, node, expected);
    return value;
  };
}

export const truth: Shape<boolean> = (node, source) => {
  if (node.kind !== 'scalar' || node.quoted || (node.text !== 'true' && node.text !== 'false')) throw wrong(source, node, 'true or false');
  return node.text === 'true';
};

/** One of a few words, which `expected` lists. */
export function oneOf<Word extends string>(words: ReadonlySet<Word>, expected: string): Shape<Word> {
  const isWord = (text: string): text is Word => words.has(text as Word);
  return (node, source) => {
    if (node.kind !== 'scalar' || !isWord(node.text)) throw wrong(source, node, expected);
    return node.text;
  };
}

export function url(expected: string): Shape<string> {
  return (node, source) => {
    if (node.kind !== 'scalar' || !URL.canParse(node.text)) throw wrong(source, node, expected);
    return node.text;
  };
}

export function listOf<Value>(item: Shape<Value>, expected: string): Shape<Value[]> {
  return (node, source) => {
    if (node.kind !== 'list' || node.items.length === 0) throw wrong(source, node, expected);
    return node.items.map((child) => item(child, source));
  };
}

/** Any value, as written: another process checks it. */
export const unchecked: Shape<unknown> = (node) => plain(node);

function plain(node: Node): unknown {
  if (node.kind === 'scalar') return isEmpty(node) ? undefined : node.text;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
}

/** `elsewhere` returns a hint for a setting that belongs somewhere else. */
export function section<F extends Fields>(fields: F, elsewhere: (key: string) => string | undefined = () => undefined): Shape<Section<F>> {
  const known = new Map(Object.entries(fields));
  return (node, source) => {
    if (isEmpty(node)) return {};
    if (node.kind !== 'mapping') throw wrong(source, node, `a section with ${[...known.keys()].join(', ')}`);
    const values: Record<string, unknown> = {};
    for (const entry of node.entries) {
      const shape = known.get(entry.key);
      if (shape === undefined) throw complain(source, entry.offset, elsewhere(entry.key) ?? unknownKey(entry, [...known.keys()]));
      values[entry.key] = shape(entry.value, source);
    }
    return values as Section<F>;
  };
}

/** Adds a check of the converted value. `problemOf` describes what is wrong with it, or returns undefined. */
export function checked<Value>(shape: Shape<Value>, problemOf: (value: Value) => string | undefined): Shape<Value> {
  return (node, source) => {
    const value = shape(node, source);
    const problem = problemOf(value);
    if (problem !== undefined) throw complain(source, node.offset, problem);
    return value;
  };
}

function unknownKey({ key }: Entry, known: readonly string[]): string {
  const close = known.find((name) => name.toLowerCase() === key.toLowerCase() || distance(name, key) <= 2);
  const hint = close === undefined ? '' : ` Did you mean "${close}"?`;
  return `unknown setting "${key}"; expected one of ${known.join(', ')}.${hint}`;
}

function isEmpty(node: Node): boolean {
  return node.kind === 'scalar' && !node.quoted && (node.text === '' || node.text === '~' || node.text === 'null');
}

function wrong(source: Source, node: Node, expected: string): Error {
  const came = node.kind === 'scalar' ? JSON.stringify(node.text) : `a ${node.kind}`;
  return complain(source, node.offset, `expected ${expected}, found ${came}`);
}

/** How many letters must be changed, added or removed to turn one word into the other. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
