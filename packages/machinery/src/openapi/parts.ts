import type { JsonObject } from '../json.ts';

/** A path or a schema of a document. All paths come before the first schema. */
export interface Part {
  readonly section: 'paths' | 'schemas';
  readonly name: string;
  readonly value: JsonObject;
}

/** The text around the paths and schemas of a document. */
export interface Layout {
  readonly before: JsonObject;
  /** Opens the schemas: `"definitions":{`. */
  readonly opening: string;
  /** Fields next to the schemas. */
  readonly after: JsonObject;
  /** The remaining closing braces. */
  readonly closing: string;
}

/** The text of a document, part by part, so that the writer can yield to other work in between. */
export function* documentText(parts: Iterable<Part>, { before, opening, after, closing }: Layout): Generator<string> {
  yield `${JSON.stringify(before).slice(0, -1)},"paths":{`;
  let section: Part['section'] = 'paths';
  let comma = '';
  for (const part of parts) {
    if (part.section !== section) {
      yield `},${opening}`;
      section = part.section;
      comma = '';
    }
    yield `${comma}${JSON.stringify(part.name)}:${JSON.stringify(part.value)}`;
    comma = ',';
  }
  yield `${section === 'paths' ? `},${opening}` : ''}},${JSON.stringify(after).slice(1)}${closing}`;
}
