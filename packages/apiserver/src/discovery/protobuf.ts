import { encodeEnvelope, encodeMessage, type JsonObject, type ObjectType } from '@capstan/machinery';

type FieldType =
  ObjectType['fields'] extends ReadonlyMap<string, infer Field> ? (Field extends { type: infer Type } ? Type : never) : never;

const text: FieldType = { kind: 'scalar', scalar: 'string' };
const flag: FieldType = { kind: 'scalar', scalar: 'bool' };
const listOf = (items: FieldType): FieldType => ({ kind: 'list', items, listType: 'atomic', keys: [] });
const texts = listOf(text);

/** The fields of a message, numbered from one in order. */
function message(fields: Readonly<Record<string, FieldType>>): ObjectType {
  const entries = Object.entries(fields).map(
    ([name, type], index) => [name, { name, type, required: false, proto: { number: index + 1 } }] as const,
  );
  return { kind: 'object', name: '', fields: new Map(entries), atomic: false, preserveUnknown: false };
}

const address = message({ clientCIDR: text, serverAddress: text });
const groupVersion = message({ groupVersion: text, version: text });
const group = message({
  name: text,
  versions: listOf(groupVersion),
  preferredVersion: groupVersion,
  serverAddressByClientCIDRs: listOf(address),
});
const resource = message({
  name: text,
  namespaced: flag,
  kind: text,
  verbs: { kind: 'list', items: text, listType: 'atomic', keys: [], wrapped: true },
  shortNames: texts,
  singularName: text,
  categories: texts,
  group: text,
  version: text,
  storageVersionHash: text,
});
const metadata = message({ name: text });
const kindName = message({ group: text, version: text, kind: text });
const aggregatedSubresource = message({ subresource: text, responseKind: kindName, acceptedTypes: listOf(kindName), verbs: texts });
const aggregatedResource = message({
  resource: text,
  responseKind: kindName,
  scope: text,
  singularResource: text,
  verbs: texts,
  shortNames: texts,
  categories: texts,
  subresources: listOf(aggregatedSubresource),
});
const aggregatedVersion = message({ version: text, resources: listOf(aggregatedResource), freshness: text });
const aggregatedGroup = message({ metadata, versions: listOf(aggregatedVersion) });

/** Discovery documents are not in the type tables, because they are never stored. */
const documents: ReadonlyMap<string, ObjectType> = new Map([
  ['APIVersions', message({ versions: texts, serverAddressByClientCIDRs: listOf(address) })],
  ['APIGroup', group],
  ['APIGroupList', message({ groups: listOf(group) })],
  ['APIResourceList', message({ groupVersion: text, resources: listOf(resource) })],
  ['APIGroupDiscoveryList', message({ metadata: message({}), items: listOf(aggregatedGroup) })],
]);

export function discoveryInProtobuf(json: string): Buffer {
  const document = JSON.parse(json) as JsonObject & { apiVersion?: string; kind: string };
  return encodeEnvelope(
    { apiVersion: document.apiVersion ?? '', kind: document.kind },
    encodeMessage(document, documents.get(document.kind)!),
  );
}
