import { shorten } from '../status/shorten.ts';

/** The path of a value in an object, printed as Kubernetes prints it: `spec.containers[0].env[name]`. */
export class FieldPath {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static of(...names: string[]): FieldPath {
    return new FieldPath(names.join('.'));
  }

  child(...names: string[]): FieldPath {
    return new FieldPath(withName(this.#text, names.join('.')));
  }

  index(index: number): FieldPath {
    return new FieldPath(withIndex(this.#text, index));
  }

  key(key: string): FieldPath {
    return new FieldPath(isLong(this.#text) ? this.#text : `${this.#text}[${shorten(key, longestPart)}]`);
  }

  toString(): string {
    return this.#text;
  }
}

/** The path of these keys and indexes within a value, as in messages: `list[0].name`. */
export function pathWithin(segments: readonly (string | number)[]): string {
  let path = '';
  for (const segment of segments) path = typeof segment === 'number' ? withIndex(path, segment) : withName(path, segment);
  return path;
}

/** Keys may have megabytes, and thousands of errors may be below one: longer parts are cut, and longer paths do not grow. */
const longestPart = 1024;
const longestPath = 4 * longestPart;

const isLong = (path: string): boolean => path.length > longestPath;

function withName(path: string, name: string): string {
  if (isLong(path)) return path;
  return path === '' ? shorten(name, longestPart) : `${path}.${shorten(name, longestPart)}`;
}

function withIndex(path: string, index: number): string {
  return isLong(path) ? path : `${path}[${index}]`;
}
