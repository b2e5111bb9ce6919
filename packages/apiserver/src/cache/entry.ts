import { clusterAnnotation, rootCluster } from '@capstan/api';
import { type KubeObject, parseExact } from '@capstan/machinery';
import { clusterOfKey } from './key.ts';

/** One version of one object in memory: its text, made once, and what was found in it when somebody asked. */
export class CacheEntry {
  /** `cluster/namespace/name`, or `cluster//name` for objects without a namespace. */
  readonly key: string;
  readonly text: string;
  readonly revision: number;
  #object: KubeObject | WeakRef<KubeObject> | undefined;
  #labels: Readonly<Record<string, string>> | undefined;

  constructor(key: string, text: string, revision: number, labels?: Readonly<Record<string, string>>) {
    this.key = key;
    this.text = text;
    this.revision = revision;
    this.#labels = labels;
  }

  /** The entry for what lies in the store under a key. */
  static stored(key: string, value: string, revision: number): CacheEntry {
    return new CacheEntry(key, servedText(key, value, revision), revision);
  }

  /** The parsed object, kept for as long as the entry is: only for kinds that the server itself reads often. Never change it. */
  get object(): KubeObject {
    const known = this.#object;
    if (known !== undefined && !(known instanceof WeakRef)) return known;
    return (this.#object = known?.deref() ?? this.parse());
  }

  /** The same, kept until memory is needed: for kinds of which every workspace has some, so that thousands that nobody asks for any more cost nothing. */
  get passingObject(): KubeObject {
    const kept = this.#kept();
    if (kept !== undefined) return kept;
    const object = this.parse();
    this.#object = new WeakRef(object);
    return object;
  }

  /** A parsed object that belongs to the caller. */
  parse(): KubeObject {
    return parseExact(this.text) as unknown as KubeObject;
  }

  #kept(): KubeObject | undefined {
    const known = this.#object;
    return known instanceof WeakRef ? known.deref() : known;
  }

  get labels(): Readonly<Record<string, string>> {
    return (this.#labels ??= this.text.includes('"labels":') ? ((this.#kept() ?? this.parse()).metadata.labels ?? noLabels) : noLabels);
  }
}

export const noLabels: Readonly<Record<string, string>> = Object.freeze({});

const emptyRevision = '"resourceVersion":""';
const revisionMark = '"resourceVersion":"';
const metadataMark = `"metadata":{${revisionMark}`;
const annotationsMark = ',"annotations":{';

/**
 * The text as clients see it. The store keeps it with an empty revision, since only the commit knows it, and without its workspace, which the key says. Objects
 * of the root workspace name none: they are shown as Kubernetes would show them.
 */
export function servedText(key: string, stored: string, revision: number): string {
  const at = stored.indexOf(emptyRevision);
  if (at < 0) throw new Error('a stored object has no place for its revision');
  const cut = at + emptyRevision.length - 1;
  const cluster = clusterOfKey(key);
  if (cluster === rootCluster) return stored.slice(0, cut) + revision + stored.slice(cut);
  return `${stored.slice(0, cut)}${revision}"${annotated(stored.slice(cut + 1), cluster)}`;
}

/** The same text, naming the workspace that it is of. */
export function namingCluster(key: string, text: string): string {
  const mark = text.indexOf(metadataMark);
  if (mark < 0) return namingUnsaved(key, text);
  const at = text.indexOf('"', mark + metadataMark.length) + 1;
  return `${text.slice(0, at)}${annotated(text.slice(at), clusterOfKey(key))}`;
}

/** The same text, of another workspace than its key says. */
export function movedTo(cluster: string, key: string, text: string): string {
  const at = text.indexOf('"', text.indexOf(metadataMark) + metadataMark.length) + 1;
  const head = text.slice(0, at);
  const rest = withoutCluster(text.slice(at), clusterOfKey(key));
  return cluster === rootCluster ? head + rest : head + annotated(rest, cluster);
}

/** Undoes `annotated`. */
function withoutCluster(rest: string, cluster: string): string {
  const own = `${annotationsMark}"${clusterAnnotation}":"${cluster}"`;
  if (!rest.startsWith(own)) return rest;
  return rest[own.length] === ',' ? annotationsMark + rest.slice(own.length + 1) : rest.slice(own.length + 1);
}

/** What a dry run shows has no revision yet, and its parts in any order. */
function namingUnsaved(key: string, text: string): string {
  const object = parseExact(text) as unknown as KubeObject;
  object.metadata.annotations = { ...object.metadata.annotations, [clusterAnnotation]: clusterOfKey(key) };
  return JSON.stringify(object);
}

/** `rest` follows the revision: annotations stand there, if there are any. */
function annotated(rest: string, cluster: string): string {
  const own = `${annotationsMark}"${clusterAnnotation}":"${cluster}"`;
  return rest.startsWith(annotationsMark) ? `${own},${rest.slice(annotationsMark.length)}` : `${own}}${rest}`;
}

/** The same object at another revision: what a deletion shows. */
export function atRevision(text: string, revision: number): string {
  const at = text.indexOf(revisionMark) + revisionMark.length;
  return text.slice(0, at) + revision + text.slice(text.indexOf('"', at));
}

/** The text that goes to the store. Kind, version, revision and annotations come first, at places that the functions above find again. */
export function storedText(object: KubeObject): string {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, annotations, ...meta } = metadata;
  const metaText = JSON.stringify(meta);
  const restText = JSON.stringify(rest);
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{${emptyRevision}${annotationsText(annotations)}`;
  return `${head}${metaText.length === 2 ? '' : `,${metaText.slice(1, -1)}`}}${restText.length === 2 ? '' : `,${restText.slice(1, -1)}`}}`;
}

/** Without the workspace. What is left is never empty: empty annotations are none. */
function annotationsText(annotations: KubeObject['metadata']['annotations']): string {
  if (!annotations) return '';
  const { [clusterAnnotation]: _, ...own } = annotations;
  const text = JSON.stringify(own);
  return text.length === 2 ? '' : `${annotationsMark}${text.slice(1)}`;
}
