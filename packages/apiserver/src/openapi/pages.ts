import { createHash } from 'node:crypto';
import {
  builtinOpenApiResources,
  builtinTypes,
  type OpenApiResource,
  type OpenApiSubresource,
  openapiV3Index,
  openapiV3Path,
  parseApiVersion,
} from '@capstan/machinery';
import { entityTag, isKnown } from '../http/entity-tag.ts';
import { sendPacked } from '../http/packed.ts';
import { TimeSlice } from '../http/packing.ts';
import type { Catalog } from '../registry/catalog.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import { catalogFor } from '../registry/catalogs.ts';
import type { Page } from '../registry/page.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import type { RequestInfo } from '../registry/scope.ts';
import { placePrefix } from '../request/place.ts';
import { discoveryDocument, discoveryPaths } from './discovery.ts';
import { OpenApiDocuments } from './documents.ts';
import { fingerprint } from './fingerprint.ts';

/** Clients ask for either name; only the second is a valid media type. */
const protobufV2 = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
] as const;

/** The resources of a document, and a key that is equal for equal resources. */
interface Source {
  readonly key: string;
  readonly resources: () => Iterable<OpenApiResource>;
}

/** The sources of a catalog at one generation. */
interface Known {
  readonly generation: number;
  readonly sources: Promise<Sources>;
}

/** The documents of a catalog at one generation. */
interface Sources {
  readonly byPath: ReadonlyMap<string, Source>;
  readonly all: Source;
}

/** `/openapi/v2` and `/openapi/v3`: the schemas of everything that is served. Documents are built on request. */
export function openApiPages(catalogs: Catalogs): Map<string, Page> {
  const about = { title: 'Capstan', version: 'v1.34.1' };
  let making: Promise<OpenApiDocuments> | undefined;
  const allDocuments = (): Promise<OpenApiDocuments> => {
    making ??= fingerprint(about).then((revision) => new OpenApiDocuments({ ...about, revision, capacity: 40 }));
    return making;
  };
  const known = new WeakMap<Catalog, Known>();
  const sourcesOf = (info: RequestInfo): Promise<Sources> => {
    const catalog = catalogFor({ catalogs }, info);
    let found = known.get(catalog);
    if (found === undefined || found.generation !== catalog.generation)
      known.set(catalog, (found = { generation: catalog.generation, sources: makeSources(catalog) }));
    return found.sources;
  };
  return new Map<string, Page>([
    [
      '/openapi/v3',
      async (exchange, info) => {
        const [documents, { byPath }] = await Promise.all([allDocuments(), sourcesOf(info)]);
        const paths = [...discoveryPaths(catalogFor({ catalogs }, info)).keys()].map((path): [string, string] => [
          path,
          documents.hash(path),
        ]);
        const hashes = new Map([...paths, ...[...byPath].map(([path, { key }]): [string, string] => [path, documents.hash(key)])]);
        // A trailing slash names no document. The index is sent as text/plain, as in Kubernetes.
        if (info.path.endsWith('/')) return exchange.send({ code: 404, type: '', body: '' });
        const body = JSON.stringify(openapiV3Index(hashes, placePrefix(info.place)));
        exchange.header('Accept-Ranges', 'bytes');
        if (!isKnown(exchange, entityTag(body))) exchange.send({ code: 200, type: 'text/plain; charset=utf-8', body });
      },
    ],
    [
      '/openapi/v3/',
      async (exchange, info) => {
        const path = info.path.slice('/openapi/v3/'.length);
        const [documents, { byPath }] = await Promise.all([allDocuments(), sourcesOf(info)]);
        const source = byPath.get(path);
        const discovery = source === undefined ? discoveryPaths(catalogFor({ catalogs }, info)).get(path) : undefined;
        if (source === undefined && discovery === undefined) return exchange.send({ code: 404, type: '', body: '' });
        const hash = documents.hash(source?.key ?? path);
        const asked = info.query.get('hash');
        exchange.header('Vary', 'Accept');
        if (asked === hash) {
          exchange.header('Cache-Control', 'public, immutable');
          exchange.header('Expires', new Date(Date.now() + 365 * 24 * 3600_000).toUTCString());
        } else if (asked !== null) {
          exchange.header('Location', `${placePrefix(info.place)}/openapi/v3/${path}?hash=${hash}`);
          exchange.header('ETag', `"${hash}"`);
          return exchange.send({ code: 301, type: 'application/json', body: '' });
        }
        exchange.header('Accept-Ranges', 'bytes');
        if (isKnown(exchange, `"${hash}"`)) return;
        if (source !== undefined) return sendPacked(exchange, 'application/json', await documents.v3(source.key, source.resources));
        exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(discoveryDocument(discovery!, about)) });
      },
    ],
    [
      '/openapi/v2',
      async (exchange, info) => {
        const [documents, { all }] = await Promise.all([allDocuments(), sourcesOf(info)]);
        const { key, resources } = all;
        exchange.header('Vary', 'Accept-Encoding, Accept');
        if (!takesV2(exchange.headers.accept)) return exchange.send({ code: 406, type: '', body: '' });
        const inProtobuf = protobufV2.some((type) => (exchange.headers.accept ?? '').includes(type));
        exchange.header('Accept-Ranges', 'bytes');
        if (isKnown(exchange, `"${documents.hash(inProtobuf ? `${key} protobuf` : key)}"`)) return;
        if (inProtobuf) await sendPacked(exchange, protobufV2[1], await documents.v2Protobuf(key, resources));
        else await sendPacked(exchange, 'application/json', await documents.v2(key, resources));
      },
    ],
  ]);
}

const v2Types = ['application/json', 'application/*', '*/*', ...protobufV2];

function takesV2(accept: string | undefined): boolean {
  return accept === undefined || accept === '' || accept.split(',').some((clause) => v2Types.includes(clause.split(';', 1)[0]!.trim()));
}

async function makeSources(catalog: Catalog): Promise<Sources> {
  const isServed = ({ group, version, resource }: OpenApiResource): boolean =>
    catalog.version(group, version)?.resources.has(resource) === true;
  const possible = (): OpenApiResource[] => builtinOpenApiResources((group, version) => catalog.isBuiltinVersion(group, version));
  const builtin = (): OpenApiResource[] => possible().filter(isServed);
  const byVersion = (): Map<string, OpenApiResource[]> => Map.groupBy(builtin(), openapiV3Path);
  // A catalog without some of the built-in kinds needs keys of its own.
  const left =
    possible().length === builtin().length
      ? ''
      : ` ${builtin()
          .map(({ resource }) => resource)
          .join()}`;
  const byPath = new Map<string, Source>(
    [...byVersion().keys()].map((path) => [path, { key: path + left, resources: () => byVersion().get(path) ?? [] }]),
  );
  const custom: Resource[] = [];
  const turns = new TimeSlice();
  for (const group of catalog.groups.values()) {
    for (const version of group.versions) {
      const own = [...version.resources.values()].filter((resource) => resource.custom !== undefined);
      if (own.length === 0) continue;
      custom.push(...own);
      const path = openapiV3Path(version);
      byPath.set(path, { key: `${path} ${await digest(own, turns)}`, resources: () => described(own) });
    }
  }
  const all =
    custom.length === 0
      ? { key: `all${left}`, resources: builtin }
      : { key: `all${left} ${await digest(custom, turns)}`, resources: () => described(custom, builtin()) };
  return { byPath, all };
}

/** A hash of everything that a document describes of these resources. */
async function digest(resources: readonly Resource[], turns: TimeSlice): Promise<string> {
  const hash = createHash('sha256');
  for (const { groupVersion, resource, kind, listKind, namespaced, subresources, custom, strategy } of resources) {
    const shape = [groupVersion, resource, kind, listKind, namespaced, ...subresources.keys(), strategy.selectableLabels].join('/');
    hash.update(`${shape}\0${custom!.hash}\0`);
    if (turns.isOver) await turns.next();
  }
  return hash.digest('hex');
}

/** Describes resources one at a time: together the descriptions are large. */
function* described(resources: readonly Resource[], first: readonly OpenApiResource[] = []): Generator<OpenApiResource> {
  yield* first;
  for (const resource of resources) yield describe(resource);
}

function describe(resource: Resource): OpenApiResource {
  return {
    group: resource.group,
    version: resource.version,
    kind: resource.kind,
    listKind: resource.listKind,
    resource: resource.resource,
    namespaced: resource.namespaced,
    verbs: [...resource.verbs],
    subresources: [...resource.subresources.values()].map((sub) => describeSubresource(resource, sub)),
    schema: { kind: 'json', schema: resource.custom!.schema() },
    selectableFields: resource.strategy.selectableLabels ?? [],
  };
}

function describeSubresource(resource: Resource, { name, verbs, groupVersion, kind }: Subresource): OpenApiSubresource {
  const described = { name, verbs: [...verbs], ...parseApiVersion(groupVersion), kind };
  return groupVersion === resource.groupVersion
    ? described
    : { ...described, schema: builtinTypes().object('io.k8s.api.autoscaling.v1.Scale') };
}
