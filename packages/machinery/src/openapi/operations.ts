import { builtinTypes } from '../schema/table.ts';
import type { ObjectType } from '../schema/type.ts';
import type { OpenApiResource, OpenApiSubresource } from './resource.ts';
import { schemaNameOf } from './resource.ts';
import type { GroupVersionKind } from './schema.ts';

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch';

/** One operation, in a form from which both OpenAPI versions can be written. */
export interface Operation {
  readonly method: Method;
  readonly action: string;
  readonly id: string;
  readonly tag: string;
  readonly kind: GroupVersionKind;
  readonly parameters: readonly string[];
  readonly body: 'object' | 'patch' | 'deleteOptions' | undefined;
  /** Schema names. */
  readonly takes: string;
  readonly gives: string;
  readonly codes: readonly number[];
  readonly watchable: boolean;
  /** If false, neither strategic merge patch nor protobuf is supported. */
  readonly builtIn: boolean;
}

export interface PathItem {
  readonly path: string;
  readonly parameters: readonly string[];
  readonly operations: readonly Operation[];
}

const listParameters = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];
const writeParameters = ['dryRun', 'fieldManager', 'fieldValidation'];
const deleteParameters = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
];
const collectionParameters = [
  ...new Set([...deleteParameters, ...listParameters.filter((name) => name !== 'allowWatchBookmarks' && name !== 'watch')]),
].sort();

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
export const statusSchema = `${meta}.Status`;
export const deleteOptionsSchema = `${meta}.DeleteOptions`;
export const patchSchema = `${meta}.Patch`;

/** The HTTP form of a verb. */
interface Shape {
  readonly method: Method;
  readonly action: string;
  /** The first word of the operation's id. */
  readonly word: string;
  readonly parameters: readonly string[];
  readonly body?: 'object' | 'patch' | 'deleteOptions';
  readonly codes: readonly number[];
}

const collectionShapes: Record<string, Shape> = {
  list: { method: 'get', action: 'list', word: 'list', parameters: listParameters, codes: [200] },
  create: { method: 'post', action: 'post', word: 'create', parameters: writeParameters, body: 'object', codes: [200, 201, 202] },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    word: 'deleteCollection',
    parameters: collectionParameters,
    body: 'deleteOptions',
    codes: [200],
  },
};

const itemShapes: Record<string, Shape> = {
  get: { method: 'get', action: 'get', word: 'read', parameters: [], codes: [200] },
  update: { method: 'put', action: 'put', word: 'replace', parameters: writeParameters, body: 'object', codes: [200, 201] },
  delete: { method: 'delete', action: 'delete', word: 'delete', parameters: deleteParameters, body: 'deleteOptions', codes: [200, 202] },
  patch: { method: 'patch', action: 'patch', word: 'patch', parameters: [...writeParameters, 'force'], body: 'patch', codes: [200, 201] },
  create: { method: 'post', action: 'post', word: 'create', parameters: writeParameters, body: 'object', codes: [200, 201, 202] },
};

/** Every path of a resource, with its operations. */
export function pathsOf(resource: OpenApiResource): PathItem[] {
  const { group, version, namespaced } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespaced ? '/namespaces/{namespace}' : '';
  const collection = `${root}${scope}/${resource.resource}`;
  const outer = namespaced ? ['namespace', 'pretty'] : ['pretty'];
  const items: PathItem[] = [
    { path: collection, parameters: outer, operations: operationsOf(resource, collectionShapes) },
    { path: `${collection}/{name}`, parameters: ['name', ...outer], operations: operationsOf(resource, withoutCreate) },
    ...resource.subresources.map((subresource) => ({
      path: `${collection}/{name}/${subresource.name}`,
      parameters: ['name', ...outer],
      operations: operationsOf(resource, itemShapes, subresource),
    })),
  ];
  if (namespaced && resource.verbs.includes('list')) {
    const everywhere = operationsOf(resource, { list: collectionShapes['list']! }).map((operation) => ({
      ...operation,
      id: `${operation.id.replace('Namespaced', '')}ForAllNamespaces`,
    }));
    items.unshift({ path: `${root}/${resource.resource}`, parameters: ['pretty'], operations: everywhere });
  }
  return items.filter(({ operations }) => operations.length > 0);
}

const { create: _create, ...withoutCreate } = itemShapes;

function operationsOf(resource: OpenApiResource, shapes: Record<string, Shape>, subresource?: OpenApiSubresource): Operation[] {
  const verbs = subresource?.verbs ?? resource.verbs;
  return Object.entries(shapes)
    .filter(([verb]) => verbs.includes(verb))
    .map(([, shape]) => operation(resource, shape, subresource));
}

function operation(resource: OpenApiResource, shape: Shape, subresource: OpenApiSubresource | undefined): Operation {
  const { group, version, kind, namespaced } = resource;
  const own = schemaNameOf(resource);
  const item = subresource?.schema?.name ?? own;
  const isDelete = shape.body === 'deleteOptions';
  const words = groupWords(group);
  const suffix = subresource === undefined ? '' : capitalize(subresource.name);
  const scope = namespaced ? 'Namespaced' : '';
  const id =
    shape.action === 'deletecollection'
      ? `delete${words}${capitalize(version)}Collection${scope}${kind}`
      : `${shape.word}${words}${capitalize(version)}${scope}${kind}${suffix}`;
  return {
    method: shape.method,
    action: shape.action,
    id,
    tag: `${words.charAt(0).toLowerCase()}${words.slice(1)}_${version}`,
    kind: subresource === undefined || subresource.schema === undefined ? { group, version, kind } : kindOf(subresource),
    parameters: shape.parameters,
    body: shape.body,
    takes: isDelete ? deleteOptionsSchema : shape.body === 'patch' ? patchSchema : item,
    gives: shape.action === 'list' ? listSchemaName(resource) : isDelete ? statusSchema : item,
    codes: shape.codes,
    watchable: shape.action === 'list' && resource.verbs.includes('watch'),
    builtIn: resource.schema.kind === 'object',
  };
}

function kindOf({ group, version, kind }: OpenApiSubresource): GroupVersionKind {
  return { group, version, kind };
}

export function listSchemaName(resource: OpenApiResource): string {
  const name = schemaNameOf(resource);
  return `${name.slice(0, name.length - resource.kind.length)}${resource.listKind ?? `${resource.kind}List`}`;
}

/** The list type, for a built-in resource that has one. */
export function listType(resource: OpenApiResource): ObjectType | undefined {
  const name = listSchemaName(resource);
  return resource.schema.kind === 'object' && builtinTypes().has(name) ? builtinTypes().object(name) : undefined;
}

/** `coordination.k8s.io` → `Coordination`, `example.com` → `ExampleCom`, the empty group → `Core`. */
function groupWords(group: string): string {
  if (group === '') return 'Core';
  return group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .map(capitalize)
    .join('');
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
