import { createHash } from 'node:crypto';
import { builtinOpenApiResources, type OpenApiDocumentInfo, type OpenApiResource, openapiV2, openapiV3 } from '@capstan/machinery';
import { TimeSlice } from '../http/packing.ts';

/** A definition that uses everything a document can describe. */
const sample: OpenApiResource = {
  group: 'example.com',
  version: 'v1',
  kind: 'Sample',
  listKind: 'SampleList',
  resource: 'samples',
  namespaced: true,
  verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  subresources: [{ name: 'status', verbs: ['get', 'update', 'patch'], group: 'example.com', version: 'v1', kind: 'Sample' }],
  schema: {
    kind: 'json',
    schema: { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
  },
  selectableFields: ['spec.color'],
};

/**
 * Identifies how this version of the program describes resources: it changes when a built-in kind has other fields, or the same
 * fields are described differently. Clients cache a document for a year under a URL with its hash, so the hash must change with
 * anything in the document.
 */
export async function fingerprint(info: OpenApiDocumentInfo): Promise<string> {
  const hash = createHash('sha256');
  const turns = new TimeSlice();
  for (const write of [openapiV3, openapiV2]) {
    for (const piece of write([...builtinOpenApiResources(), sample], info)) {
      hash.update(piece);
      if (turns.isOver) await turns.next();
    }
  }
  return hash.digest('hex');
}
