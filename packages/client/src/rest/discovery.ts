import { parseApiVersion } from '@capstan/machinery/objects';
import { ApiError } from './error.ts';
import type { ResourceType } from './resource.ts';
import type { RestClient } from './rest-client.ts';

export interface DiscoveredResource extends ResourceType {
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly subresources: readonly string[];
}

interface AggregatedList {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind: string };
        readonly scope: string;
        readonly verbs: readonly string[];
        readonly shortNames?: readonly string[];
        readonly subresources?: readonly { readonly subresource: string }[];
      }[];
    }[];
  }[];
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
    readonly shortNames?: readonly string[];
  }[];
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/**
 * All resources that the server serves, with the preferred version of each group first. Two requests on servers with aggregated discovery.
 */
export async function discover(client: RestClient, signal?: AbortSignal): Promise<DiscoveredResource[]> {
  const both = await Promise.all(['/api', '/apis'].map((path) => discoverBelow(client, path, signal)));
  return both.flat();
}

/** The resource of a kind, as in manifests; undefined if the server does not serve it. */
export async function resourceForKind(client: RestClient, apiVersion: string, kind: string): Promise<DiscoveredResource | undefined> {
  try {
    return (await listVersion(client, parseApiVersion(apiVersion))).find((one) => one.kind === kind);
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  }
}

async function discoverBelow(client: RestClient, path: string, signal: AbortSignal | undefined): Promise<DiscoveredResource[]> {
  const answer = await client.json<
    AggregatedList & { readonly kind: string; readonly versions?: readonly string[]; readonly groups?: readonly Group[] }
  >({
    method: 'GET',
    path,
    headers: { accept: `${aggregated},application/json` },
    signal,
  });
  if (answer.kind === 'APIGroupDiscoveryList') return ofAggregated(answer);
  const versions =
    path === '/api'
      ? (answer.versions ?? []).map((version) => ({ group: '', version }))
      : (answer.groups ?? []).flatMap(({ name, versions }) => versions.map(({ version }) => ({ group: name, version })));
  return (await Promise.all(versions.map((one) => listVersion(client, one, signal)))).flat();
}

interface Group {
  readonly name: string;
  readonly versions: readonly { readonly version: string }[];
}

function ofAggregated(list: AggregatedList): DiscoveredResource[] {
  return list.items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.map((one) => ({
        group: metadata?.name ?? '',
        version,
        resource: one.resource,
        namespaced: one.scope === 'Namespaced',
        kind: one.responseKind?.kind ?? '',
        verbs: one.verbs,
        shortNames: one.shortNames ?? [],
        subresources: (one.subresources ?? []).map(({ subresource }) => subresource),
      })),
    ),
  );
}

async function listVersion(
  client: RestClient,
  { group, version }: { readonly group: string; readonly version: string },
  signal?: AbortSignal,
): Promise<DiscoveredResource[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const { resources } = await client.json<ResourceList>({ method: 'GET', path, headers: { accept: 'application/json' }, signal });
  const below = new Map<string, string[]>();
  for (const { name } of resources) {
    const slash = name.indexOf('/');
    if (slash === -1) continue;
    const parent = name.slice(0, slash);
    below.set(parent, [...(below.get(parent) ?? []), name.slice(slash + 1)]);
  }
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((one) => ({
      group,
      version,
      resource: one.name,
      namespaced: one.namespaced,
      kind: one.kind,
      verbs: one.verbs,
      shortNames: one.shortNames ?? [],
      subresources: below.get(one.name) ?? [],
    }));
}
