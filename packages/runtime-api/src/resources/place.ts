import { platformWorkspace } from '@capstan/api';
import { namespaceIn } from '../http/parameters.ts';
import { Problem } from '../problems/problem.ts';
import type { Call } from '../routes/call.ts';
import { defaultWorkspace } from '../upstream/workspace.ts';
import type { RestResource } from './resource.ts';

/** Where the objects of a request are. */
export interface Place {
  readonly workspace: string;
  /** Empty for kinds without namespaces. */
  readonly namespace: string;
  /** The path of the collection at the API server. */
  readonly collection: string;
}

export async function placeOf(resource: RestResource, call: Call): Promise<Place> {
  const { group, version, resource: plural, namespaced } = resource.kind;
  const namespace = namespaced ? namespaceIn(call.query) : '';
  const workspace = resource.place === 'platform' ? atPlatform(call) : await workspaceOf(call);
  const root = `/clusters/${workspace}/apis/${group}/${version}`;
  return { workspace, namespace, collection: namespaced ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}` };
}

export function workspaceOf({ workspace, upstream, authorization }: Call): string | Promise<string> {
  return workspace ?? defaultWorkspace(upstream, authorization);
}

export function atPlatform({ workspace }: Call): string {
  if (workspace === undefined || workspace === platformWorkspace) return platformWorkspace;
  throw new Problem('workspace_not_found', `This resource exists only in ${platformWorkspace}. Leave /clusters/… out.`);
}
