import {
  appReportsPath,
  artifactsPath,
  definedKinds,
  enrollPath,
  fleetGroup,
  type KindDefinition,
  logStorePath,
  nodeNamespace,
  renewPath,
  serversPath,
} from '@capstan/api';
import type { Random } from './random.ts';
import { nameOf, type RequestSource } from './request-source.ts';
import type { FuzzedRequest } from './requests.ts';
import { fitting } from './schema-values.ts';
import { anyJson, anyText, mutated } from './values.ts';

const kinds = definedKinds.filter(({ group }) => group === fleetGroup);

/** Requests of a node agent with a valid identity: what it may report, about its own node and about others. */
export class AgentRequests implements RequestSource {
  readonly #random: Random;
  readonly #node: string;

  constructor(random: Random, node: string) {
    this.#random = random;
    this.#node = node;
  }

  next(): FuzzedRequest {
    const random = this.#random;
    return random.chance(0.7) ? this.#object(random.pick(kinds)) : this.#page();
  }

  #object({ group, version, resource, namespaced, kind, versions }: KindDefinition): FuzzedRequest {
    const random = this.#random;
    const node = random.chance(0.9) ? this.#node : 'n1';
    const place = namespaced ? `/namespaces/${nodeNamespace(node)}` : '';
    const all = `/clusters/root:platform/apis/${group}/${version}${place}/${resource}`;
    const name = resource === 'gpunodes' ? node : random.chance(0.5) ? 'hostile' : nameOf(random);
    const { spec, status } = versions[version]!;
    const object = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, ...(random.chance(0.1) && { finalizers: [anyText(random)], labels: { a: anyText(random) } }) },
      ...(random.chance(0.3) && { spec: fitting(random, spec?.json, () => undefined) }),
      status: fitting(random, status?.json, () => undefined),
    };
    const text = JSON.stringify(object);
    const body = random.chance(0.05) ? mutated(random, text) : text;
    const label = `agent:${resource}`;
    const sub = random.chance(0.8) ? '/status' : '';
    const choice = random.below(10);
    if (choice < 6)
      return { label, method: 'PATCH', path: `${all}/${name}${sub}`, headers: { 'content-type': 'application/merge-patch+json' }, body };
    if (choice === 6) return { label, method: 'PUT', path: `${all}/${name}${sub}`, body };
    if (choice === 7) return { label, method: 'POST', path: all, body };
    if (choice === 8) return { label, method: 'DELETE', path: `${all}/${name}` };
    return { label, method: 'GET', path: random.chance(0.5) ? `${all}/${name}` : `${all}?watch=true&timeoutSeconds=1` };
  }

  #page(): FuzzedRequest {
    const random = this.#random;
    const anything = (): string => encodeURIComponent(anyText(random).toWellFormed());
    const number = (): string => String(random.pick([0, 1, -1, 1e6, 2 ** 53, 'x']));
    const path = random.pick([
      `${logStorePath}${random.pick(['hostile', anything()])}/${number()}?offset=${number()}&gap=${random.pick(['true', 'x'])}`,
      `${artifactsPath}${random.pick(['a'.repeat(64), anything()])}?offset=${number()}`,
      `${appReportsPath}${anything()}/${anything()}`,
      enrollPath,
      renewPath,
      serversPath,
    ]);
    const body = random.pick([anyText(random), JSON.stringify(anyJson(random)), 'x'.repeat(random.length(300_000))]);
    return { label: 'agent:page', method: random.pick(['PUT', 'POST', 'GET', 'DELETE']), path, body };
  }
}
