import { EVENT_ID, type Event, getScalarValue, parseEvents, SCALAR_STYLE, YAMLException } from 'js-yaml';

/** A YAML document that remembers the position of each part, so that every error can name it. */
export type Node =
  | { readonly kind: 'scalar'; readonly text: string; readonly quoted: boolean; readonly offset: number }
  | { readonly kind: 'list'; readonly items: readonly Node[]; readonly offset: number }
  | { readonly kind: 'mapping'; readonly entries: readonly Entry[]; readonly offset: number };

export interface Entry {
  readonly key: string;
  readonly offset: number;
  readonly value: Node;
}

/** An invalid configuration. The message begins with `file:line:column`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface Source {
  readonly file: string;
  readonly text: string;
}

/** Parses one YAML document; undefined if the file is empty. */
export function parseDocument(source: Source): Node | undefined {
  let events: Event[];
  try {
    events = parseEvents(source.text, { filename: source.file });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    throw new ConfigError(
      `${source.file}:${(error.mark?.line ?? 0) + 1}:${(error.mark?.column ?? 0) + 1}: not valid YAML: ${error.reason}`,
    );
  }
  return new TreeBuilder(source, events).document();
}

export function complain(source: Source, offset: number, message: string): ConfigError {
  const before = source.text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  return new ConfigError(`${source.file}:${line}:${column}: ${message}`);
}

class TreeBuilder {
  readonly #source: Source;
  readonly #events: readonly Event[];
  #next = 0;

  constructor(source: Source, events: readonly Event[]) {
    this.#source = source;
    this.#events = events;
  }

  document(): Node | undefined {
    if (this.#events[this.#next++]?.type !== EVENT_ID.DOCUMENT) return undefined;
    const node = this.#node();
    if (this.#events.filter((event) => event.type === EVENT_ID.DOCUMENT).length > 1) {
      throw new ConfigError(`${this.#source.file}: expected one YAML document, found several; keep one`);
    }
    return node;
  }

  /** The next node, or undefined at the end of the open collection. */
  #node(): Node | undefined {
    const event = this.#events[this.#next++];
    switch (event?.type) {
      case EVENT_ID.SCALAR: {
        const quoted = event.style !== SCALAR_STYLE.PLAIN;
        const offset = Math.max(
          0,
          event.valueStart - (event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED ? 1 : 0),
        );
        return { kind: 'scalar', text: getScalarValue(this.#source.text, event), quoted, offset };
      }
      case EVENT_ID.SEQUENCE: {
        const items: Node[] = [];
        for (let item = this.#node(); item !== undefined; item = this.#node()) items.push(item);
        return { kind: 'list', items, offset: event.start };
      }
      case EVENT_ID.MAPPING:
        return { kind: 'mapping', entries: this.#entries(), offset: event.start };
      case EVENT_ID.ALIAS:
        throw complain(this.#source, event.anchorStart, 'anchors and aliases are not supported here; write the value out');
      default:
        return undefined;
    }
  }

  #entries(): Entry[] {
    const entries: Entry[] = [];
    for (let key = this.#node(); key !== undefined; key = this.#node()) {
      if (key.kind !== 'scalar') throw complain(this.#source, key.offset, 'expected a name as the key');
      const name = key.text;
      if (entries.some((entry) => entry.key === name)) throw complain(this.#source, key.offset, `"${name}" is given twice; keep one`);
      const value = this.#node();
      if (value === undefined) throw complain(this.#source, key.offset, `expected a value for "${name}"`);
      entries.push({ key: name, offset: key.offset, value });
    }
    return entries;
  }
}
