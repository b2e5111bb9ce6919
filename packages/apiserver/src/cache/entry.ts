import { type ClusterId, clusterAnnotation, rootCluster } from '@capstan/api';
import { asJson, endOfString, type JsonObject, type KubeObject, type Parts, parseExact, stringifyInParts } from '@capstan/machinery';
import { clusterOfKey } from './key.ts';

/** One version of one object in memory: its text, built once, and the parts of it parsed on demand. The object passed its schema before it was stored. */
export class CacheEntry<T extends KubeObject = KubeObject> {
  /** `cluster/namespace/name`, or `cluster//name` for cluster-scoped objects. */
  readonly key: string;
  readonly text: string;
  readonly revision: number;
  #object: T | WeakRef<T> | undefined;
  #labels: Readonly<Record<string, string>> | undefined;

  constructor(key: string, text: string, revision: number, labels?: Readonly<Record<string, string>>) {
    this.key = key;
    this.text = text;
    this.revision = revision;
    this.#labels = labels;
  }

  /** The entry for a key and value of the store. */
  static stored(key: string, value: string, revision: number): CacheEntry {
    return new CacheEntry(key, servedText(key, value, revision), revision);
  }

  /** The parsed object, kept as long as the entry: only for kinds that the server itself reads often. Do not modify it. */
  get object(): T {
    const known = this.#object;
    if (known !== undefined && !(known instanceof WeakRef)) return known;
    return (this.#object = known?.deref() ?? this.parse());
  }

  /**
   * The same, but garbage-collected when memory is needed: for kinds that every workspace has, so that thousands of unused
   * objects cost nothing.
   */
  get passingObject(): T {
    const kept = this.#kept();
    if (kept !== undefined) return kept;
    const object = this.parse();
    this.#object = new WeakRef(object);
    return object;
  }

  /** A parsed copy that the caller may modify. */
  parse(): T {
    return parseExact(this.text) as unknown as T;
  }

  /** Its kind, version and metadata, without the rest, which may be long. Only of stored objects. */
  parseHead(): Pick<T, 'kind' | 'apiVersion' | 'metadata'> {
    const end = endOfObject(this.text, this.text.indexOf(metadataStart) + metadataStart.length);
    return parseExact(`${this.text.slice(0, end + 1)}}`) as unknown as T;
  }

  #kept(): T | undefined {
    const known = this.#object;
    return known instanceof WeakRef ? known.deref() : known;
  }

  get labels(): Readonly<Record<string, string>> {
    return (this.#labels ??= this.text.includes('"labels":') ? ((this.#kept() ?? this.parse()).metadata.labels ?? noLabels) : noLabels);
  }
}

export const noLabels: Readonly<Record<string, string>> = Object.freeze({});

const metadataStart = '"metadata":{';
const emptyRevision = '"resourceVersion":""';
const revisionMark = '"resourceVersion":"';
const metadataMark = `"metadata":{${revisionMark}`;
const annotationsMark = ',"annotations":{';

/** The index of the brace that closes the object whose content starts here. */
function endOfObject(text: string, start: number): number {
  let depth = 1;
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === brace) depth++;
    else if (code === closingBrace && --depth === 0) return at;
    else if (Number.isNaN(code)) throw new Error('a stored object has no end of its metadata');
  }
}

const [quote, brace, closingBrace] = [0x22, 0x7b, 0x7d];

/**
 * The text as clients see it. The store holds it with an empty revision, which is only known after the commit, and without its
 * workspace, which is in the key. Objects of the root workspace are served without a workspace, as Kubernetes would serve them.
 */
export function servedText(key: string, stored: string, revision: number): string {
  const at = stored.indexOf(emptyRevision);
  if (at < 0) throw new Error('a stored object has no field for its revision');
  const cut = at + emptyRevision.length - 1;
  const cluster = clusterOfKey(key);
  if (cluster === rootCluster) return stored.slice(0, cut) + revision + stored.slice(cut);
  return `${stored.slice(0, cut)}${revision}"${annotated(stored.slice(cut + 1), cluster)}`;
}

/** The same text, annotated with its workspace. */
export function namingCluster(key: string, text: string): string {
  const mark = text.indexOf(metadataMark);
  if (mark < 0) return namingUnsaved(key, text);
  const at = text.indexOf('"', mark + metadataMark.length) + 1;
  return `${text.slice(0, at)}${annotated(text.slice(at), clusterOfKey(key))}`;
}

/** The same text, annotated with another workspace than the one in its key. */
export function movedTo(cluster: ClusterId, key: string, text: string): string {
  const at = text.indexOf('"', text.indexOf(metadataMark) + metadataMark.length) + 1;
  const head = text.slice(0, at);
  const rest = withoutCluster(text.slice(at), clusterOfKey(key));
  return cluster === rootCluster ? head + rest : head + annotated(rest, cluster);
}

/** Undoes `annotated`. */
function withoutCluster(rest: string, cluster: ClusterId): string {
  const own = `${annotationsMark}"${clusterAnnotation}":"${cluster}"`;
  if (!rest.startsWith(own)) return rest;
  return rest[own.length] === ',' ? annotationsMark + rest.slice(own.length + 1) : rest.slice(own.length + 1);
}

/** The result of a dry run has no revision yet, and its fields may be in any order. */
function namingUnsaved(key: string, text: string): string {
  const object = parseExact(text) as unknown as KubeObject;
  object.metadata.annotations = { ...object.metadata.annotations, [clusterAnnotation]: clusterOfKey(key) };
  return JSON.stringify(object);
}

/** `rest` is the text after the revision, which starts with the annotations if there are any. */
function annotated(rest: string, cluster: ClusterId): string {
  const own = `${annotationsMark}"${clusterAnnotation}":"${cluster}"`;
  return rest.startsWith(annotationsMark) ? `${own},${rest.slice(annotationsMark.length)}` : `${own}}${rest}`;
}

/** The same object at another revision, for DELETED events. */
export function atRevision(text: string, revision: number): string {
  const at = text.indexOf(revisionMark) + revisionMark.length;
  return text.slice(0, at) + revision + text.slice(text.indexOf('"', at));
}

/** The text to store. Kind, version, revision and annotations come first, where the functions above expect them. */
export function storedText(object: KubeObject): string {
  const { meta, rest } = partsOf(object);
  return assembled(object, JSON.stringify(meta), JSON.stringify(rest));
}

/** The same in parts, for large objects. */
export function* storedTextInParts(object: KubeObject): Parts<string> {
  const { meta, rest } = partsOf(object);
  const metaText = yield* stringifyInParts(meta);
  return assembled(object, metaText, yield* stringifyInParts(rest));
}

function partsOf(object: KubeObject): { readonly meta: JsonObject; readonly rest: JsonObject } {
  const { kind: _kind, apiVersion: _version, metadata, ...rest } = asJson(object);
  const { resourceVersion: _revision, annotations: _annotations, ...meta } = metadata as JsonObject;
  return { meta, rest };
}

function assembled({ kind, apiVersion, metadata: { annotations } }: KubeObject, metaText: string, restText: string): string {
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{${emptyRevision}${annotationsText(annotations)}`;
  return `${head}${metaText.length === 2 ? '' : `,${metaText.slice(1, -1)}`}}${restText.length === 2 ? '' : `,${restText.slice(1, -1)}`}}`;
}

/** Leaves out the workspace, and the whole field if no other annotations remain. */
function annotationsText(annotations: KubeObject['metadata']['annotations']): string {
  if (!annotations) return '';
  const { [clusterAnnotation]: _, ...own } = annotations;
  const text = JSON.stringify(own);
  return text.length === 2 ? '' : `${annotationsMark}${text.slice(1)}`;
}
