import { excerpt, GpuError } from '../errors.ts';

export interface Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly Element[];
  /** The text between the tags of an element, without that of its children. */
  readonly text: string;
}

interface OpenElement extends Element {
  readonly children: Element[];
  text: string;
}

const maxDepth = 32;
const maxElements = 500_000;
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const tag = /^<(\/?)([A-Za-z_][\w.-]{0,127})((?:\s+[A-Za-z_][\w.-]{0,63}\s*=\s*(?:"[^"<]{0,4096}"|'[^'<]{0,4096}'))*)\s*(\/?)>$/;

/**
 * Reads the XML that nvidia-smi prints: elements, attributes and text. A document type is skipped unless it defines anything; CDATA and processing
 * instructions do not occur. It is smaller and stricter than a general parser: a cut or spoiled document is an error, never half a tree.
 */
export function parseXml(document: string): Element {
  return new Reader(document).read();
}

class Reader {
  readonly #document: string;
  readonly #open: OpenElement[] = [];
  #root: Element | undefined;
  #elements = 0;

  constructor(document: string) {
    this.#document = document;
  }

  read(): Element {
    let at = 0;
    while (at < this.#document.length) {
      const next = this.#document.indexOf('<', at);
      this.#text(this.#document.slice(at, next === -1 ? undefined : next));
      if (next === -1) break;
      at = this.#markup(next);
    }
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined) throw new GpuError('Incomplete', `expected </${unclosed.name}>, found the end of the output`);
    if (this.#root === undefined) throw new GpuError('Malformed', `expected XML, found "${excerpt(this.#document)}"`);
    return this.#root;
  }

  #text(text: string): void {
    const open = this.#open.at(-1);
    if (open !== undefined) open.text += decodeEntities(text);
    else if (text.trim() !== '') throw new GpuError('Malformed', `expected XML, found "${excerpt(text)}"`);
  }

  /** Returns the position after it. */
  #markup(start: number): number {
    if (this.#document.startsWith('<!--', start)) return this.#end('-->', start + 4);
    const end = this.#end('>', start);
    const markup = this.#document.slice(start, end);
    if (markup.startsWith('<?')) return end;
    if (/^<!DOCTYPE\s[^[]*>$/.test(markup)) return end;
    const match = tag.exec(markup);
    if (match === null) throw new GpuError('Malformed', `expected a tag, found "${excerpt(markup)}"`);
    const [, closing, name, attributes, empty] = match;
    if (closing !== '') this.#closeElement(name!);
    else this.#openElement(name!, attributes!);
    if (empty !== '') this.#closeElement(name!);
    return end;
  }

  #end(mark: string, from: number): number {
    const end = this.#document.indexOf(mark, from);
    if (end === -1) throw new GpuError('Incomplete', `expected "${mark}", found the end of the output`);
    return end + mark.length;
  }

  #openElement(name: string, attributes: string): void {
    if (this.#root !== undefined) throw new GpuError('Malformed', `expected one root element, found another, <${name}>`);
    if (this.#open.length >= maxDepth) throw new GpuError('Malformed', `expected at most ${maxDepth} levels of elements, found more`);
    if (++this.#elements > maxElements) throw new GpuError('Malformed', `expected at most ${maxElements} elements, found more`);
    const pairs = attributes.matchAll(/([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g);
    this.#open.push({
      name,
      attributes: new Map([...pairs].map(([, key, double, single]) => [key!, decodeEntities(double ?? single ?? '')])),
      children: [],
      text: '',
    });
  }

  #closeElement(name: string): void {
    const element = this.#open.pop();
    if (element?.name !== name) {
      throw new GpuError('Malformed', `expected ${element === undefined ? 'no tag' : `</${element.name}>`}, found </${name}>`);
    }
    const parent = this.#open.at(-1);
    if (parent === undefined) this.#root = element;
    else parent.children.push(element);
  }
}

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,4});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return Object.hasOwn(entities, name) ? entities[name]! : whole;
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** The child at a path such as `fb_memory_usage/total`. */
export function childAt(element: Element, path: string): Element | undefined {
  let found: Element | undefined = element;
  for (const name of path.split('/')) found = found?.children.find((child) => child.name === name);
  return found;
}

export function childrenAt(element: Element, path: string): readonly Element[] {
  const parts = path.split('/');
  const last = parts.pop()!;
  const parent = parts.length === 0 ? element : childAt(element, parts.join('/'));
  return parent?.children.filter(({ name }) => name === last) ?? [];
}

/** The trimmed text at a path; undefined if there is no such element. */
export function textAt(element: Element, path: string): string | undefined {
  return childAt(element, path)?.text.trim();
}
