import type { ClusterId } from '@capstan/api';
import { type KubeObject, StatusError, status } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Negotiated } from '../http/negotiate.ts';
import { movedEntry, namedEntry, type Origin, objectOf, type Resource, textOf } from './resource.ts';

/** Serializes objects of one resource for one client: whole, as table rows, or metadata only. Built once per request or watch. */
export interface Shaper {
  readonly key: string;
  one(entry: CacheEntry): string;
  /** The whole list from its items; `meta` is the JSON of the list's metadata. */
  list(entries: readonly CacheEntry[], meta: string): string;
  /** The same in pieces, each made when it is needed: for long lists. */
  pieces(entries: Iterable<CacheEntry>, meta: string): Iterable<string>;
  /** An object in a watch event. The first event of a watch includes the columns of a table. */
  watched(entry: CacheEntry, first: boolean): string;
  /** An object from elsewhere as served in each workspace; undefined if objects are served where they are stored. */
  readonly copies?: (entry: CacheEntry) => readonly CacheEntry[];
}

/** The text that a watch sends for an event. */
export function frames(shape: Shaper, { type, entry }: { type: string; entry: CacheEntry }, first: boolean): string {
  if (shape.copies === undefined) return `{"type":"${type}","object":${shape.watched(entry, first)}}\n`;
  let text = '';
  for (const copy of shape.copies(entry)) text += `{"type":"${type}","object":${shape.watched(copy, first && text === '')}}\n`;
  return text;
}

export type IncludeObject = '' | 'None' | 'Metadata' | 'Object';

export function shaper(resource: Resource, wanted: Negotiated, includeObject: IncludeObject, now: () => Date): Shaper {
  switch (wanted.shape) {
    case 'object':
      return wholeObjects(resource);
    case 'Table':
      return tables(resource, { version: wanted.shapeVersion, include: includeObject, now });
    default:
      return metadataOnly(resource, wanted.shapeVersion, wanted.shape);
  }
}

function* mapped(entries: Iterable<CacheEntry>, shown: (entry: CacheEntry) => CacheEntry): Iterable<CacheEntry> {
  for (const entry of entries) yield shown(entry);
}

/** A list from its head, its items and its end. */
function* listed(
  frame: readonly [head: string, end: string],
  entries: Iterable<CacheEntry>,
  item: (entry: CacheEntry) => string,
): Iterable<string> {
  let before = frame[0];
  for (const entry of entries) {
    yield before + item(entry);
    before = ',';
  }
  yield before === ',' ? frame[1] : before + frame[1];
}

/** The same, with workspace annotations, and the changes that `more` makes. */
export function naming(shape: Shaper, more: (entry: CacheEntry) => CacheEntry = (entry) => entry): Shaper {
  const shown = (entry: CacheEntry): CacheEntry => more(namedEntry(entry));
  return {
    key: `${shape.key} naming`,
    one: (entry) => shape.one(shown(entry)),
    list: (entries, meta) => shape.list(entries.map(shown), meta),
    pieces: (entries, meta) => shape.pieces(mapped(entries, shown), meta),
    watched: (entry, first) => shape.watched(shown(entry), first),
  };
}

/** The same, with objects from elsewhere as served in one workspace. */
export function moved(shape: Shaper, cluster: ClusterId): Shaper {
  const shown = (entry: CacheEntry): CacheEntry => movedEntry(entry, cluster);
  return {
    key: `${shape.key} moved`,
    one: (entry) => shape.one(shown(entry)),
    list: (entries, meta) => shape.list(entries.map(shown), meta),
    pieces: (entries, meta) => shape.pieces(mapped(entries, shown), meta),
    watched: (entry, first) => shape.watched(shown(entry), first),
  };
}

/**
 * The maximum number of characters returned at once of objects that are served in several workspaces: the copies cost their
 * publisher nothing, but they cost the server.
 */
const largestShow = 64 << 20;

/** The same, with objects from elsewhere, once for each workspace that serves them. */
export function movedEverywhere(shape: Shaper, { consumers }: Origin, shows: (entry: CacheEntry) => boolean = () => true): Shaper {
  const copies = (entry: CacheEntry): CacheEntry[] => {
    const clusters = consumers();
    checkShow([entry], clusters.length);
    return clusters.map((cluster) => movedEntry(entry, cluster)).filter(shows);
  };
  return {
    key: `${shape.key} everywhere`,
    one: (entry) => shape.one(copies(entry)[0]!),
    list: (entries, meta) => {
      checkShow(entries, consumers().length);
      return shape.list(entries.flatMap(copies), meta);
    },
    pieces: (entries, meta) => {
      const all = [...entries];
      checkShow(all, consumers().length);
      return shape.pieces(all.flatMap(copies), meta);
    },
    watched: (entry, first) => shape.watched(entry, first),
    copies,
  };
}

function checkShow(entries: readonly CacheEntry[], times: number): void {
  let size = 0;
  for (const { text } of entries) size += text.length;
  if (size * times <= largestShow) return;
  const what = `${entries.length} objects in ${times} workspaces are too much to be shown at once`;
  throw status.requestTooLarge(`${what}: ask for one workspace, or for fewer objects (limit)`);
}

function wholeObjects(resource: Resource): Shaper {
  // List items omit kind and version, except those of custom resources.
  const skip = resource.custom === undefined ? `{"kind":"${resource.kind}","apiVersion":"${resource.groupVersion}",`.length : 1;
  const frame = (meta: string): [string, string] => [
    `{"kind":"${resource.listKind}","apiVersion":"${resource.groupVersion}","metadata":${ended(resource, meta)},"items":[`,
    ']}\n',
  ];
  return {
    key: 'object',
    one: (entry) => textOf(resource, entry),
    list: (entries, meta) => {
      let items = '';
      for (const entry of entries) {
        const text = textOf(resource, entry);
        items += items === '' ? `{${text.slice(skip)}` : `,{${text.slice(skip)}`;
      }
      const [head, end] = frame(meta);
      return `${head}${items}${end}`;
    },
    pieces: (entries, meta) => listed(frame(meta), entries, (entry) => `{${textOf(resource, entry).slice(skip)}`),
    watched: (entry) => textOf(resource, entry),
  };
}

/** Lists of custom resources have an empty `continue` on their last page; other lists omit it. */
function ended({ custom }: Resource, meta: string): string {
  return custom === undefined || meta.includes('"continue":') ? meta : `{"continue":"",${meta.slice(1)}`;
}

function partial(resource: Resource, entry: CacheEntry, version: string): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${JSON.stringify(objectOf(resource, entry).metadata)}}`;
}

function metadataOnly(resource: Resource, version: string, shape: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): Shaper {
  const shown = (entry: CacheEntry): string => partial(resource, entry, version);
  const pieces = (entries: Iterable<CacheEntry>, meta: string): Iterable<string> => {
    if (shape === 'PartialObjectMetadata') throw misfit(shape, `a list (${goName(resource, 'list')})`);
    const head = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${version}","metadata":${meta},"items":[`;
    return listed([head, ']}\n'], entries, shown);
  };
  return {
    key: `partial/${version}`,
    one: (entry) => {
      if (shape === 'PartialObjectMetadataList') throw notList(resource, shape);
      return shown(entry);
    },
    list: (entries, meta) => [...pieces(entries, meta)].join(''),
    pieces,
    watched: shown,
  };
}

/** For custom resources, Kubernetes only notices that an object is not a list when it reads the items. */
function notList(resource: Resource, shape: string): StatusError {
  if (resource.custom !== undefined) return new StatusError({ code: 500, message: 'content is not a list' });
  return misfit(shape, `not a list (${goName(resource, 'one')})`);
}

function misfit(shape: string, what: string): StatusError {
  const message = `you requested ${shape}, but the requested object is ${what}`;
  return new StatusError({ code: 406, reason: 'NotAcceptable', message });
}

/** The Go type that holds the objects in Kubernetes, as its messages name it. */
function goName({ custom, group, kind, listKind }: Resource, what: 'one' | 'list'): string {
  if (custom !== undefined) return what === 'list' ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured';
  const home = group === '' || group === 'events.k8s.io' ? 'core' : group.split('.', 1)[0];
  return `*${home}.${what === 'list' ? listKind : kind}`;
}

/** The author of a kind defines its columns, and many of them may print a whole object. */
const mostInCells = 32 << 20;

function tables(resource: Resource, options: { version: string; include: IncludeObject; now: () => Date }): Shaper {
  const { version, include, now } = options;
  const columns = JSON.stringify(
    resource.printer.columns.map(({ name, type, format, priority, description }) => ({
      name,
      type,
      format: format ?? '',
      description: description ?? '',
      priority: priority ?? 0,
    })),
  );
  const row = (entry: CacheEntry, taken = { characters: 0 }): string => {
    const object = objectOf(resource, entry);
    const cells = JSON.stringify(resource.printer.cells(object, now()));
    taken.characters += cells.length;
    if (taken.characters > mostInCells) {
      throw status.requestTooLarge(
        `the cells of the table would have more than ${mostInCells} characters; ask for fewer objects, or for no table`,
      );
    }
    const conditions = resource.printer.rowConditions?.(object);
    const shown = conditions === undefined ? '' : `,"conditions":${JSON.stringify(conditions)}`;
    return `{"cells":${cells}${shown},"object":${rowObject(entry, object)}}`;
  };
  const rowObject = (entry: CacheEntry, object: KubeObject): string => {
    if (include === 'None') return 'null';
    if (include === 'Object') return textOf(resource, entry);
    return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${JSON.stringify(object.metadata)}}`;
  };
  const head = (meta: string, definitions: string): string =>
    `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":${meta},"columnDefinitions":${definitions},"rows":[`;
  const table = (meta: string, definitions: string, rows: string): string => `${head(meta, definitions)}${rows}]}`;
  const pieces = (entries: Iterable<CacheEntry>, meta: string): Iterable<string> => {
    const taken = { characters: 0 };
    return listed([head(meta, columns), ']}\n'], entries, (entry) => row(entry, taken));
  };
  return {
    key: `table/${version}/${include}`,
    one: (entry) => table(`{"resourceVersion":"${entry.revision}"}`, columns, row(entry)),
    list: (entries, meta) => [...pieces(entries, meta)].join(''),
    pieces,
    watched: (entry, first) => table(`{"resourceVersion":"${entry.revision}"}`, first ? columns : 'null', row(entry)),
  };
}
