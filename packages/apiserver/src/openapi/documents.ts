import { createHash } from 'node:crypto';
import { BoundedMap, type OpenApiDocumentInfo, type OpenApiResource, openapiV2, openapiV2Protobuf, openapiV3 } from '@capstan/machinery';
import { type PackedDocument, pack } from '../http/packing.ts';

export interface DocumentsOptions {
  readonly title: string;
  readonly version: string;
  /** Changes whenever the same resources would be described differently: part of every hash. */
  readonly revision: string;
  /** How many documents are kept. The least recently used are evicted and built again on request. */
  readonly capacity: number;
}

/** Those of the built-in kinds, and of a thousand versions of others. */
const mostHashes = 2_000;

type Resources = () => Iterable<OpenApiResource>;

/**
 * Builds documents on request, in small steps, and keeps each one compressed, once for all workspaces that serve the same
 * resources. A key identifies the resources: callers must pass equal keys for equal resources, and different keys otherwise.
 */
export class OpenApiDocuments {
  readonly #options: DocumentsOptions;
  readonly #kept = new Map<string, Promise<PackedDocument>>();
  readonly #hashes = new BoundedMap<string, string>(mostHashes);

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** The document of one group version. */
  v3(key: string, resources: Resources): Promise<PackedDocument> {
    return this.#keep(`v3 ${key}`, () => openapiV3(resources(), this.#info()));
  }

  /** The document of all resources. */
  v2(key: string, resources: Resources): Promise<PackedDocument> {
    return this.#keep(`v2 ${key}`, () => openapiV2(resources(), this.#info()));
  }

  /** The same in protobuf. */
  v2Protobuf(key: string, resources: Resources): Promise<PackedDocument> {
    return this.#keep(`v2-protobuf ${key}`, () => openapiV2Protobuf(resources(), this.#info()));
  }

  /** The hash of a document, computed without building it: the index of documents needs nothing else. The index asks for all of them again and again. */
  hash(key: string): string {
    const { title, version, revision } = this.#options;
    return this.#hashes.getOrCompute(key, () =>
      createHash('sha512').update([title, version, revision, key].join('\0')).digest('hex').toUpperCase(),
    );
  }

  #info(): OpenApiDocumentInfo {
    return { title: this.#options.title, version: this.#options.version };
  }

  #keep(key: string, make: () => Iterable<string | Buffer>): Promise<PackedDocument> {
    let document = this.#kept.get(key);
    if (document === undefined) {
      document = pack(make());
      // The next request tries again.
      document.catch(() => this.#kept.delete(key));
    } else this.#kept.delete(key);
    this.#kept.set(key, document);
    if (this.#kept.size > this.#options.capacity) this.#kept.delete(this.#kept.keys().next().value!);
    return document;
  }
}
