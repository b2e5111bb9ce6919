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
    return new FieldPath(this.#text === '' ? names.join('.') : `${this.#text}.${names.join('.')}`);
  }

  index(index: number): FieldPath {
    return new FieldPath(`${this.#text}[${index}]`);
  }

  key(key: string): FieldPath {
    return new FieldPath(`${this.#text}[${key}]`);
  }

  toString(): string {
    return this.#text;
  }
}
