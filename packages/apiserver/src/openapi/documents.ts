import { createHash } from 'node:crypto';
import { type OpenApiDocumentInfo, type OpenApiResource, openapiV2, openapiV2Protobuf, openapiV3 } from '@capstan/machinery';
import { type PackedDocument, pack } from '../http/packing.ts';

export interface DocumentsOptions {
  readonly title: string;
  readonly version: string;
  /** Another one whenever the same resources would be described in other words: part of every hash. */
  readonly revision: string;
  /** How many documents are kept. Those asked for least recently are made again when somebody wants them. */
  readonly capacity: number;
}

type Resources = () => Iterable<OpenApiResource>;

/**
 * Makes documents when they are asked for, a little at a time, and keeps each compressed, once for all workspaces that serve the same resources. A
 * key stands for the resources: whoever asks must give the same one for the same resources, and another one for others.
 */
export class OpenApiDocuments {
  readonly #options: DocumentsOptions;
  readonly #kept = new Map<string, Promise<PackedDocument>>();

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** The document of one group and version. */
  v3(key: string, resources: Resources): Promise<PackedDocument> {
    return this.#keep(`v3 ${key}`, () => openapiV3(resources(), this.#info()));
  }

  /** The document of everything. */
  v2(key: string, resources: Resources): Promise<PackedDocument> {
    return this.#keep(`v2 ${key}`, () => openapiV2(resources(), this.#info()));
  }

  /** The same in protobuf. */
  v2Protobuf(key: string, resources: Resources): Promise<PackedDocument> {
    return this.#keep(`v2-protobuf ${key}`, () => openapiV2Protobuf(resources(), this.#info()));
  }

  /** The hash of a document that need not be made for it: the list of all documents needs only these. */
  hash(key: string): string {
    const { title, version, revision } = this.#options;
    return createHash('sha512').update([title, version, revision, key].join('\0')).digest('hex').toUpperCase();
  }

  #info(): OpenApiDocumentInfo {
    return { title: this.#options.title, version: this.#options.version };
  }

  #keep(key: string, make: () => Iterable<string | Buffer>): Promise<PackedDocument> {
    let document = this.#kept.get(key);
    if (document === undefined) {
      document = pack(make());
      // The next one who asks tries again.
      document.catch(() => this.#kept.delete(key));
    } else this.#kept.delete(key);
    this.#kept.set(key, document);
    if (this.#kept.size > this.#options.capacity) this.#kept.delete(this.#kept.keys().next().value!);
    return document;
  }
}
