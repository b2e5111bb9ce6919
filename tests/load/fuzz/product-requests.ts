import { definedKinds, type KindDefinition } from '@capstan/api';
import { isObject, type JsonObject } from '@capstan/machinery';
import type { Random } from './random.ts';
import { nameOf, type RequestSource } from './request-source.ts';
import type { FuzzedRequest } from './requests.ts';
import { fitting } from './schema-values.ts';
import { anyJson, anyText, mutated } from './values.ts';

/** Wishes that the platform fulfils or waits with, by resource. */
const sound: Readonly<Record<string, JsonObject>> = {
  gpuunits: { offering: 'load', command: ['sleep', '5'] },
  gpustorages: { size: '1Gi' },
  allocations: { offering: 'load' },
  appinstances: { app: 'rke2', placement: { server_allocation_id: 'n0', agent_allocation_ids: ['n1', 'n2'] } },
};
/** Kinds that tenants may order. */
export const wished = definedKinds.filter(({ resource }) => resource in sound);
const streams = ['log', 'exec', 'attach', 'portforward', 'proxy', 'status', 'scale', 'kubeconfig'];

/** Requests for the kinds of Capstan: mostly orders that a tenant may place, some of which are nearly sound. */
export class ProductRequests implements RequestSource {
  readonly #random: Random;
  readonly #base: string;

  constructor(random: Random, cluster: string) {
    this.#random = random;
    this.#base = `/clusters/${cluster}`;
  }

  next(): FuzzedRequest {
    const random = this.#random;
    const kind = random.pick(random.chance(0.9) ? wished : definedKinds);
    const { group, version, resource, namespaced } = kind;
    const all = `${this.#base}/apis/${group}/${version}${namespaced ? '/namespaces/default' : ''}/${resource}`;
    const name = nameOf(random);
    const one = `${all}/${encodeURIComponent(name)}`;
    const verb = random.pick(['create', 'create', 'create', 'update', 'patch', 'patch', 'get', 'list', 'watch', 'delete', 'stream']);
    const label = `product:${verb} ${resource}`;
    const body = (): string => this.#body(kind, name);
    switch (verb) {
      case 'create':
        return { label, method: 'POST', path: all, body: body() };
      case 'update':
        return { label, method: 'PUT', path: `${one}${random.chance(0.3) ? '/status' : ''}`, body: body() };
      case 'patch': {
        const type = random.pick(['merge-patch+json', 'apply-patch+yaml']);
        const headers = { 'content-type': `application/${type}` };
        return { label, method: 'PATCH', path: `${one}?fieldManager=a&force=true`, headers, body: body() };
      }
      case 'get':
        return { label, method: 'GET', path: one };
      case 'delete':
        return { label, method: 'DELETE', path: one };
      case 'stream':
        return {
          label,
          method: random.pick(['GET', 'POST']),
          path: `${one}/${random.pick(streams)}?command=${encodeURIComponent(anyText(random).toWellFormed())}&tailLines=${random.pick(['1', '-1', 'x'])}`,
          ...(random.chance(0.5) && { headers: { connection: 'Upgrade', upgrade: random.pick(['websocket', 'SPDY/3.1']) } }),
        };
      default:
        return { label, method: 'GET', path: `${all}?${verb === 'watch' ? 'watch=true&timeoutSeconds=1' : 'limit=5'}` };
    }
  }

  #body({ group, version, kind, resource, versions }: KindDefinition, name: string): string {
    const random = this.#random;
    const { spec, status } = versions[version]!;
    const made = random.chance(0.5) ? fitting(random, spec?.json, () => undefined) : {};
    const fields = isObject(made) ? made : {};
    const changed = random.chance(0.3) ? { [random.pick(Object.keys(sound[resource] ?? { a: 1 }))]: anyJson(random) } : {};
    const object = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, ...(random.chance(0.1) && { annotations: { a: anyText(random) }, finalizers: [anyText(random)] }) },
      spec: { ...fields, ...(random.chance(0.8) && sound[resource]), ...changed },
      ...(random.chance(0.2) && { status: fitting(random, status?.json, () => undefined) }),
    };
    const text = JSON.stringify(object);
    return random.chance(0.05) ? mutated(random, text) : text;
  }
}
