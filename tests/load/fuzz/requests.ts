import { builtinResources, type JsonObject } from '@capstan/machinery';
import type { Request } from '../hostile/means.ts';
import { expression } from './expressions.ts';
import type { Random } from './random.ts';
import { anyJson, anyText, mutated, objectOf } from './values.ts';

/** A request, and a word for its kind. */
export interface FuzzedRequest extends Request {
  readonly label: string;
}

type Resource = ReturnType<typeof builtinResources>[number];

const own = 'fuzz.example.com';
const types = ['merge-patch+json', 'strategic-merge-patch+json', 'json-patch+json', 'apply-patch+yaml'];
const accepts = [
  'application/json',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
  'application/yaml',
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'text/html',
  '*/*;q=0.1',
];

/** Makes requests of one tenant. */
export class Requests {
  readonly #random: Random;
  readonly #base: string;

  readonly #resources: readonly Resource[];

  constructor(random: Random, { cluster, served }: { readonly cluster: string; readonly served: readonly string[] }) {
    this.#random = random;
    this.#base = `/clusters/${cluster}`;
    this.#resources = builtinResources().filter(({ group, resource }) => served.includes(`${group}/${resource}`));
  }

  next(): FuzzedRequest {
    const random = this.#random;
    const made = random.chance(0.12) ? this.#own() : random.chance(0.12) ? this.#policy() : this.#usual(random.pick(this.#resources));
    return random.chance(0.08) ? this.#odd(made) : made;
  }

  #name(): string {
    const random = this.#random;
    return random.chance(0.03) ? anyText(random) : `n${random.below(12)}`;
  }

  #path({ group, version, resource, namespaced }: Resource, name = ''): string {
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const namespace = namespaced && !(name === '' && this.#random.chance(0.1)) ? '/namespaces/default' : '';
    return `${this.#base}${root}${namespace}/${resource}${name === '' ? '' : `/${encodeURIComponent(name.toWellFormed())}`}`;
  }

  #usual(resource: Resource): FuzzedRequest {
    const random = this.#random;
    const verb = random.pick([
      'create',
      'create',
      'create',
      'update',
      'patch',
      'patch',
      'get',
      'list',
      'watch',
      'delete',
      'sub',
      'deletecollection',
    ]);
    const label = `${verb} ${resource.resource}`;
    const object = (name: string): string => this.#text(this.#object(resource, name));
    const name = this.#name();
    switch (verb) {
      case 'create':
        return { label, method: 'POST', path: this.#path(resource) + this.#options('write'), body: object(name) };
      case 'update':
        return { label, method: 'PUT', path: this.#path(resource, name) + this.#options('write'), body: object(name) };
      case 'patch':
        return { label, path: this.#path(resource, name) + this.#options('patch'), ...this.#patch(object(name)) };
      case 'get':
        return { label, method: 'GET', path: this.#path(resource, name) + this.#options('get') };
      case 'delete':
        return { label, method: 'DELETE', path: this.#path(resource, name) + this.#options('delete'), ...this.#deleteBody() };
      case 'sub': {
        const sub = random.pick([...resource.subresources.map((one) => one.name), 'status', 'scale', 'nothing']);
        const method = random.pick(['GET', 'PUT', 'POST', 'PATCH']);
        const path = `${this.#path(resource, name)}/${sub}${this.#options('get')}`;
        if (method === 'PATCH') return { label, path, ...this.#patch(object(name)) };
        return { label, method, path, ...(method !== 'GET' && { body: object(name) }) };
      }
      case 'deletecollection':
        return { label, method: 'DELETE', path: `${this.#path(resource)}?dryRun=All&labelSelector=${this.#selector()}` };
      default:
        return { label, method: 'GET', path: this.#path(resource) + this.#options(verb) };
    }
  }

  #object({ group, version, kind, typeName }: Resource, name: string): JsonObject {
    const random = this.#random;
    return {
      apiVersion: random.chance(0.02) ? anyText(random) : group === '' ? version : `${group}/${version}`,
      kind: random.chance(0.02) ? anyText(random) : kind,
      metadata: this.#metadata(name),
      ...objectOf(random, typeName),
    };
  }

  #metadata(name: string): JsonObject {
    const random = this.#random;
    const pairs = (): JsonObject => Object.fromEntries(Array.from({ length: random.length(6) }, () => [anyText(random), anyText(random)]));
    return {
      name,
      ...(random.chance(0.3) && { labels: pairs() }),
      ...(random.chance(0.2) && { annotations: pairs() }),
      ...(random.chance(0.05) && { generateName: anyText(random) }),
      ...(random.chance(0.05) && { finalizers: [anyText(random)] }),
      ...(random.chance(0.05) && { resourceVersion: random.pick(['1', '0', 'x', '99999999']) }),
      ...(random.chance(0.05) && { ownerReferences: anyJson(random) }),
      ...(random.chance(0.05) && { managedFields: anyJson(random) }),
      ...(random.chance(0.02) && { uid: anyText(random), deletionTimestamp: anyText(random), creationTimestamp: null }),
    };
  }

  #text(object: unknown): string {
    const text = JSON.stringify(object);
    return this.#random.chance(0.06) ? mutated(this.#random, text) : text;
  }

  #deleteBody(): Partial<Request> {
    const random = this.#random;
    if (!random.chance(0.3)) return {};
    const options = {
      propagationPolicy: random.pick(['Orphan', 'Background', 'Foreground', 'x']),
      preconditions: anyJson(random),
      dryRun: ['All'],
    };
    return { body: this.#text({ apiVersion: 'v1', kind: 'DeleteOptions', ...options }) };
  }

  #patch(object: string): Pick<Request, 'method' | 'headers' | 'body'> {
    const random = this.#random;
    const type = random.pick(types);
    const pointer = (): string =>
      `/${Array.from({ length: 1 + random.below(4) }, () => random.pick(['metadata', 'spec', 'data', 'labels', '0', '-', 'a', '~1', '~', ''])).join('/')}`;
    const operations = Array.from({ length: random.length(60) }, () => ({
      op: random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
      path: pointer(),
      from: pointer(),
      value: anyJson(random),
    }));
    const marked = random.chance(0.3)
      ? JSON.stringify({
          spec: {
            $patch: 'replace',
            $retainKeys: ['a'],
            '$setElementOrder/containers': anyJson(random),
            '$deleteFromPrimitiveList/finalizers': [1],
          },
        })
      : object;
    const body = type === 'json-patch+json' ? this.#text(operations) : type === 'strategic-merge-patch+json' ? marked : object;
    return { method: 'PATCH', headers: { 'content-type': `application/${type}` }, body };
  }

  #selector(): string {
    const random = this.#random;
    const one = (): string =>
      random.pick([
        'a=b',
        'a',
        '!a',
        'a in (b,c)',
        'a notin ()',
        'a>1',
        'metadata.name=n1',
        'spec.nodeName=x',
        'a==',
        '=',
        ',',
        anyText(random),
      ]);
    return encodeURIComponent(
      Array.from({ length: 1 + random.length(20) }, one)
        .join(',')
        .toWellFormed(),
    );
  }

  #options(verb: string): string {
    const random = this.#random;
    const parts: string[] = [];
    if (verb === 'watch') parts.push('watch=true', `timeoutSeconds=${random.pick([1, 1, 0, -1, 'x'])}`);
    if ((verb === 'list' || verb === 'watch') && random.chance(0.4)) parts.push(`labelSelector=${this.#selector()}`);
    if ((verb === 'list' || verb === 'watch') && random.chance(0.3)) parts.push(`fieldSelector=${this.#selector()}`);
    if (random.chance(0.2))
      parts.push(`resourceVersion=${random.pick(['0', '1', '5', 'x', '99999999999', '18446744073709551616', '-1', ''])}`);
    if (random.chance(0.1)) parts.push(`resourceVersionMatch=${random.pick(['Exact', 'NotOlderThan', 'x'])}`);
    if (random.chance(0.1))
      parts.push(
        `limit=${random.pick([1, 2, 0, -1, 'x', 1e20])}`,
        `continue=${random.pick(['', 'x', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0'])}`,
      );
    if (verb === 'watch' && random.chance(0.3))
      parts.push('sendInitialEvents=true', 'allowWatchBookmarks=true', 'resourceVersionMatch=NotOlderThan');
    if ((verb === 'write' || verb === 'patch' || verb === 'delete') && random.chance(0.4))
      parts.push(`dryRun=${random.pick(['All', 'x', ''])}`);
    if (verb === 'patch')
      parts.push(
        `fieldManager=${random.pick(['a', 'b', '', encodeURIComponent(anyText(random).toWellFormed())])}`,
        `force=${random.pick(['true', 'false', 'x'])}`,
      );
    if (random.chance(0.2)) parts.push(`fieldValidation=${random.pick(['Strict', 'Warn', 'Ignore', 'x'])}`);
    if (random.chance(0.05))
      parts.push(`pretty=${random.pick(['true', '1', 'x'])}`, `timeout=${random.pick(['1s', '0', '-1s', 'x', '1ns'])}`);
    return parts.length === 0 ? '' : `?${parts.join('&')}`;
  }

  /** Definitions with rules, and their objects. */
  #own(): FuzzedRequest {
    const random = this.#random;
    const plural = `things${random.below(4)}`;
    const definitions = `${this.#base}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
    const objects = `${this.#base}/apis/${own}/v1/namespaces/default/${plural}`;
    const name = this.#name();
    const choice = random.below(10);
    if (choice === 0) return { label: 'delete a definition', method: 'DELETE', path: `${definitions}/${plural}.${own}` };
    if (choice < 4) {
      const body = this.#text(this.#definition(plural));
      if (choice < 3) return { label: 'create a definition', method: 'POST', path: definitions, body };
      return {
        label: 'apply a definition',
        method: 'PATCH',
        path: `${definitions}/${plural}.${own}?fieldManager=a&force=true`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body,
      };
    }
    const list = Array.from({ length: random.length(500) }, () => anyJson(random, 4));
    const map = Object.fromEntries(list.map((value, index) => [`${anyText(random)}${index}`, value]));
    const object = {
      apiVersion: `${own}/v1`,
      kind: `Thing${plural.at(-1)}`,
      metadata: this.#metadata(name),
      spec: { list, map, text: anyText(random), any: anyJson(random) },
    };
    if (choice < 7)
      return { label: 'create a custom object', method: 'POST', path: objects + this.#options('write'), body: this.#text(object) };
    if (choice < 9)
      return {
        label: 'patch a custom object',
        path: `${objects}/${name}${this.#options('patch')}`,
        ...this.#patch(JSON.stringify(object)),
      };
    return {
      label: 'list custom objects',
      method: 'GET',
      path: objects + this.#options(random.pick(['list', 'watch'])),
      headers: { accept: random.pick(accepts) },
    };
  }

  #definition(plural: string): JsonObject {
    const random = this.#random;
    const rules = (): JsonObject[] =>
      Array.from({ length: random.length(4) }, () => ({
        rule: expression(random),
        message: anyText(random),
        ...(random.chance(0.2) && { messageExpression: expression(random) }),
      }));
    const properties = {
      list: {
        type: 'array',
        maxItems: random.pick([10, 1_000, 100_000]),
        items: { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-int-or-string': random.chance(0.3) },
        'x-kubernetes-validations': rules(),
      },
      map: { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true }, 'x-kubernetes-validations': rules() },
      text: {
        type: 'string',
        pattern: random.pick(['(a+)+$', '^.*$', '(', '(?i)x{1,900}', '\\pL+']),
        maxLength: random.pick([1, 1_000, 1e9]),
        format: random.pick(['date-time', 'ipv4', 'byte', 'x']),
        default: anyText(random),
      },
      any: { 'x-kubernetes-preserve-unknown-fields': true },
      ...(random.chance(0.2) && { odd: anyJson(random) }),
    };
    const schema = { type: 'object', properties: { spec: { type: 'object', properties, 'x-kubernetes-validations': rules() } } };
    const columns = [
      {
        name: 'a',
        type: 'string',
        jsonPath: random.pick(['.spec.text', '.spec.list[*]', '.spec.list[?(@.a=="b")].c', '..', '{', '.spec.list[-1:0:0]']),
      },
    ];
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${own}` },
      spec: {
        group: own,
        scope: 'Namespaced',
        names: { plural, singular: plural.replace('s', ''), kind: `Thing${plural.at(-1)}` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: schema },
            subresources: { status: {}, ...(random.chance(0.3) && { scale: anyJson(random) }) },
            additionalPrinterColumns: columns,
            selectableFields: [{ jsonPath: '.spec.text' }],
          },
        ],
      },
    };
  }

  /** Policies with expressions, for ConfigMaps only, so that others can still be written. */
  #policy(): FuzzedRequest {
    const random = this.#random;
    const isMutating = random.chance(0.4);
    const version = isMutating ? 'v1beta1' : 'v1';
    const plural = isMutating ? 'mutatingadmissionpolic' : 'validatingadmissionpolic';
    const root = `${this.#base}/apis/admissionregistration.k8s.io/${version}`;
    const name = `n${random.below(4)}`;
    const kind = isMutating ? 'MutatingAdmissionPolicy' : 'ValidatingAdmissionPolicy';
    if (random.chance(0.3)) return { label: 'delete a policy', method: 'DELETE', path: `${root}/${plural}ies/${name}` };
    if (random.chance(0.4)) {
      const spec = { policyName: name, ...(!isMutating && { validationActions: random.pick([['Deny'], ['Warn', 'Audit']]) }) };
      return {
        label: 'bind a policy',
        method: 'POST',
        path: `${root}/${plural}ybindings`,
        body: JSON.stringify({ metadata: { name }, spec }),
      };
    }
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['*'] }];
    const checks = isMutating
      ? {
          reinvocationPolicy: 'IfNeeded',
          mutations: [
            random.chance(0.5)
              ? {
                  patchType: 'ApplyConfiguration',
                  applyConfiguration: {
                    expression: random.chance(0.5) ? 'Object{metadata: Object.metadata{labels: {"a": string(1)}}}' : expression(random),
                  },
                }
              : {
                  patchType: 'JSONPatch',
                  jsonPatch: { expression: `[JSONPatch{op: "add", path: "/metadata/labels/a", value: ${expression(random)}}]` },
                },
          ],
        }
      : {
          validations: Array.from({ length: 1 + random.length(4) }, () => ({
            expression: expression(random),
            messageExpression: random.chance(0.2) ? expression(random) : undefined,
          })),
        };
    const spec = {
      failurePolicy: random.pick(['Fail', 'Ignore']),
      matchConstraints: { resourceRules },
      variables: [{ name: 'a', expression: expression(random) }],
      matchConditions: random.chance(0.3) ? [{ name: 'a', expression: expression(random) }] : [],
      ...checks,
    };
    return {
      label: `create a ${kind}`,
      method: 'POST',
      path: `${root}/${plural}ies`,
      body: this.#text({ apiVersion: `admissionregistration.k8s.io/${version}`, kind, metadata: { name }, spec }),
    };
  }

  /** Headers, methods and paths that no client sends. */
  #odd(request: FuzzedRequest): FuzzedRequest {
    const random = this.#random;
    const headers: Record<string, string> = { ...request.headers };
    if (random.chance(0.4)) headers['accept'] = random.pick(accepts);
    if (random.chance(0.2))
      headers['content-type'] = random.pick([
        'application/yaml',
        'application/vnd.kubernetes.protobuf',
        'text/plain',
        '',
        'application/json; charset=x',
      ]);
    if (random.chance(0.1))
      headers['impersonate-user'] = random.pick(['a', 'system:admin', encodeURIComponent(anyText(random).toWellFormed())]);
    if (random.chance(0.1))
      Object.assign(headers, {
        connection: 'Upgrade',
        upgrade: random.pick(['websocket', 'SPDY/3.1', 'x']),
        'sec-websocket-key': 'YQ==',
        'sec-websocket-version': '13',
      });
    if (random.chance(0.1)) headers['accept-encoding'] = random.pick(['gzip', 'x', 'gzip;q=0']);
    if (random.chance(0.1)) headers['if-none-match'] = '"x"';
    if (random.chance(0.05)) headers['x-long'] = 'x'.repeat(random.length(20_000));
    const method = random.chance(0.1) ? random.pick(['OPTIONS', 'HEAD', 'TRACE', 'PUT', 'QUERY']) : request.method;
    const pages = [
      '/openapi/v2',
      '/openapi/v3',
      '/openapi/v3/apis/apps/v1',
      '/version',
      '/metrics',
      '/apis',
      '/api',
      '/healthz',
      '/readyz?verbose',
      '/.well-known/openid-configuration',
      '/capstan/servers',
      '/capstan/usage',
      '/capstan/audit',
      '/services/apiexport/x/y/clusters/*/apis',
    ];
    const page = (random.chance(0.5) ? this.#base : '') + random.pick(pages);
    const path = random.chance(0.2) ? page : random.chance(0.2) ? this.#brokenPath(request.path) : request.path;
    return { ...request, label: `odd: ${request.label.split(' ')[0]}`, method, path, headers };
  }

  #brokenPath(path: string): string {
    const random = this.#random;
    const at = random.below(path.length);
    const piece = random.pick(['%', '%00', '%2e%2e/', '//', '/../', '%ff', '?', '#', '*', ':', 'x'.repeat(random.length(6_000))]);
    return `/${(path.slice(0, at) + piece + path.slice(at + random.length(6))).replace(/^\/+/, '').replace(/[\s\r\n]/g, '')}`;
  }
}
