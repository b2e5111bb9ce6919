import type { JsonObject, KubeObject } from '@capstan/machinery';
import type { Reply, TestServer } from '../../testing/harness.ts';

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const merge = { 'content-type': 'application/merge-patch+json' };

export interface VersionParts extends JsonObject {
  name: string;
}

/** A definition of `things` in a group, with the given versions. */
export function definition(group: string, { versions, spec = {} }: { versions: VersionParts[]; spec?: JsonObject }): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing', shortNames: ['th'] },
      versions: versions.map((version, index) => ({ served: true, storage: index === 0, ...version })),
      ...spec,
    },
  };
}

/** A version with the given fields below `spec`. */
export function version(name: string, fields: JsonObject, more: JsonObject = {}): VersionParts {
  const spec = { type: 'object', properties: fields };
  return { name, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } }, ...more };
}

export function thing(group: string, name: string, spec: JsonObject, versionName = 'v1'): KubeObject {
  return { apiVersion: `${group}/${versionName}`, kind: 'Thing', metadata: { name }, spec };
}

/** A server with shorthands for the calls that most tests make. */
export class Things {
  readonly #server: TestServer;
  readonly group: string;

  constructor(server: TestServer, group: string) {
    this.#server = server;
    this.group = group;
  }

  path(versionName = 'v1'): string {
    return `/apis/${this.group}/${versionName}/namespaces/default/things`;
  }

  get definitionPath(): string {
    return `${definitionsPath}/things.${this.group}`;
  }

  /** Creates the definition and waits until it is served. */
  async define(parts: { versions: VersionParts[]; spec?: JsonObject }): Promise<void> {
    const reply = await this.#server.call(definitionsPath, { method: 'POST', body: definition(this.group, parts) });
    if (reply.code !== 201) throw new Error(`things.${this.group} was not created: ${reply.text}`);
    await this.until((object) => hasCondition(object, 'Established', 'True'));
  }

  /** Waits until the definition reaches a state. It watches, so no state is missed. */
  async until(isReached: (definition: KubeObject) => boolean): Promise<KubeObject> {
    const path = `${definitionsPath}?watch=true&fieldSelector=metadata.name%3Dthings.${this.group}&timeoutSeconds=20`;
    let reached: KubeObject | undefined;
    await this.#server.watchUntil(path, (event) => {
      if (event.type === 'DELETED' || !isReached(event.object)) return false;
      reached = event.object;
      return true;
    });
    if (reached === undefined) throw new Error(`things.${this.group} did not reach the expected state`);
    return reached;
  }

  async gone(): Promise<void> {
    const reply = await this.#server.call(this.definitionPath);
    if (reply.code === 404) return;
    const revision = reply.json().metadata.resourceVersion;
    const path = `${definitionsPath}?watch=true&fieldSelector=metadata.name%3Dthings.${this.group}&resourceVersion=${revision}&timeoutSeconds=20`;
    await this.#server.watchUntil(path, (event) => event.type === 'DELETED');
  }

  create(name: string, spec: JsonObject, versionName = 'v1'): Promise<Reply> {
    return this.#server.call(this.path(versionName), { method: 'POST', body: thing(this.group, name, spec, versionName) });
  }

  get(name: string, versionName = 'v1'): Promise<Reply> {
    return this.#server.call(`${this.path(versionName)}/${name}`);
  }

  patch(name: string, body: JsonObject, versionName = 'v1'): Promise<Reply> {
    return this.#server.call(`${this.path(versionName)}/${name}`, { method: 'PATCH', headers: merge, body });
  }

  drop(): Promise<Reply> {
    return this.#server.call(this.definitionPath, { method: 'DELETE' });
  }
}

export function hasCondition(object: KubeObject, type: string, status: string): boolean {
  const { conditions } = (object['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
  return (conditions ?? []).some((condition) => condition.type === type && condition.status === status);
}
