import type { KubeObject } from '@capstan/machinery';

/** One version of one object in memory: its text, made once, and what was found in it when somebody asked. */
export class CacheEntry {
  /** `cluster/namespace/name`, or `cluster//name` for objects without a namespace. */
  readonly key: string;
  readonly text: string;
  readonly revision: number;
  #object: KubeObject | undefined;
  #labels: Readonly<Record<string, string>> | undefined;

  constructor(key: string, text: string, revision: number, labels?: Readonly<Record<string, string>>) {
    this.key = key;
    this.text = text;
    this.revision = revision;
    this.#labels = labels;
  }

  /** The parsed object, kept for as long as the entry is: only for kinds that the server itself reads often. Never change it. */
  get object(): KubeObject {
    return (this.#object ??= this.parse());
  }

  /** A parsed object that belongs to the caller. */
  parse(): KubeObject {
    return JSON.parse(this.text) as KubeObject;
  }

  get labels(): Readonly<Record<string, string>> {
    return (this.#labels ??= this.text.includes('"labels":') ? ((this.#object ?? this.parse()).metadata.labels ?? noLabels) : noLabels);
  }
}

export const noLabels: Readonly<Record<string, string>> = Object.freeze({});

const emptyRevision = '"resourceVersion":""';
const revisionMark = '"resourceVersion":"';

/** The text as clients see it: the store keeps it with an empty revision, since only the commit knows it. */
export function withRevision(stored: string, revision: number): string {
  const at = stored.indexOf(emptyRevision);
  if (at < 0) throw new Error('a stored object has no place for its revision');
  const cut = at + emptyRevision.length - 1;
  return stored.slice(0, cut) + revision + stored.slice(cut);
}

/** The same object at another revision: what a deletion shows. */
export function atRevision(text: string, revision: number): string {
  const at = text.indexOf(revisionMark) + revisionMark.length;
  return text.slice(0, at) + revision + text.slice(text.indexOf('"', at));
}

/** The text that goes to the store. Kind, version and revision come first, at places that the functions above find again. */
export function storedText(object: KubeObject): string {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = metadata;
  const metaText = JSON.stringify(meta);
  const restText = JSON.stringify(rest);
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{${emptyRevision}`;
  return `${head}${metaText.length === 2 ? '' : `,${metaText.slice(1, -1)}`}}${restText.length === 2 ? '' : `,${restText.slice(1, -1)}`}}`;
}
