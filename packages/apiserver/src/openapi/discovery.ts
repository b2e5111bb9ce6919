import type { JsonObject } from '@capstan/machinery';
import type { Catalog } from '../registry/catalog.ts';

/** One of the discovery paths. */
interface DiscoveryPath {
  /** As in the index of documents. */
  readonly path: string;
  readonly tag: string;
  readonly operation: string;
  readonly description: string;
  readonly answer: string;
}

/** The paths of groups and versions, and of the server itself: each has its own document. */
export function discoveryPaths(catalog: Catalog): ReadonlyMap<string, DiscoveryPath> {
  const meta = (kind: string): string => `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`;
  const all: DiscoveryPath[] = [
    {
      path: 'api',
      tag: 'core',
      operation: 'getCoreAPIVersions',
      description: 'The versions of the core group.',
      answer: meta('APIVersions'),
    },
    { path: 'apis', tag: 'apis', operation: 'getAPIVersions', description: 'The groups and their versions.', answer: meta('APIGroupList') },
    {
      path: 'version',
      tag: 'version',
      operation: 'getCodeVersion',
      description: 'What runs here.',
      answer: 'io.k8s.apimachinery.pkg.version.Info',
    },
  ];
  for (const group of catalog.groups.keys()) {
    if (group === '') continue;
    const operation = `get${operationName(group)}APIGroup`;
    all.push({ path: `apis/${group}`, tag: tagOf(group), operation, description: 'The versions of the group.', answer: meta('APIGroup') });
  }
  return new Map(all.map((one) => [one.path, one]));
}

export function discoveryDocument(
  { path, tag, operation, description, answer }: DiscoveryPath,
  info: { title: string; version: string },
): JsonObject {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${answer}` } } };
  const responses = { 200: { description: 'OK', content }, 401: { description: 'Unauthorized' } };
  return {
    openapi: '3.0.0',
    info: { ...info },
    paths: { [`/${path}/`]: { get: { tags: [tag], description, operationId: operation, responses } } },
    components: { schemas: { [answer]: { type: 'object' } } },
  };
}

/** `apps` becomes Apps, `rbac.authorization.k8s.io` RbacAuthorization, `wildwest.dev` WildwestDev. */
function operationName(group: string): string {
  return shortened(group)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
}

function tagOf(group: string): string {
  return operationName(group).replace(/^./, (first) => first.toLowerCase());
}

function shortened(group: string): string[] {
  return group.replace(/\.k8s\.io$/, '').split(/[.-]/);
}
