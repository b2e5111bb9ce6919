import { isObject, type JsonObject, names, parseYaml } from '@capstan/machinery';
import { durationIn } from '../request/timeout.ts';
import type { WebhookSettings } from './webhook/authorizer.ts';
import type { WebhookConnection } from './webhook/client.ts';
import { type Condition, compileCondition } from './webhook/conditions.ts';

/** One of the configured authorizers. */
export type AuthorizerSetting =
  | { readonly type: 'Node' }
  | { readonly type: 'RBAC' }
  | { readonly type: 'AlwaysAllowGroups' }
  | { readonly type: 'AlwaysAllowPaths' }
  | ({ readonly type: 'Webhook'; readonly connection: WebhookConnection; readonly timeout: number } & WebhookSettings);

/** Reads the connection to a webhook from a kubeconfig file. */
export type Connect = (kubeconfigFile: string) => WebhookConnection;

const versions: ReadonlySet<unknown> = new Set(['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`));
const mostConditions = 64;
const second = 1000;

const problem = (at: string, what: string): TypeError => new TypeError(`authorization configuration: ${at}: ${what}`);

/**
 * Parses an AuthorizationConfiguration (apiserver.config.k8s.io). Besides Kubernetes' types, it accepts kcp's: AlwaysAllowGroups and
 * AlwaysAllowPaths.
 */
export function parseAuthorizationConfiguration(text: string, connect: Connect): AuthorizerSetting[] {
  const root = parseYaml(text);
  if (!isObject(root) || root['kind'] !== 'AuthorizationConfiguration') throw problem('kind', 'expected AuthorizationConfiguration');
  if (!versions.has(root['apiVersion'])) throw problem('apiVersion', `expected one of ${[...versions].join(', ')}`);
  const entries = root['authorizers'];
  if (!Array.isArray(entries) || entries.length === 0) throw problem('authorizers', 'at least one authorization mode must be defined');
  const seen = { types: new Set<string>(), names: new Set<string>() };
  return entries.map((entry, index) => authorizerOf(new Part(`authorizers[${index}]`, entry), { seen, connect }));
}

interface Reading {
  readonly seen: { readonly types: Set<string>; readonly names: Set<string> };
  readonly connect: Connect;
}

function authorizerOf(part: Part, { seen, connect }: Reading): AuthorizerSetting {
  part.only(['type', 'name', 'webhook']);
  const type = part.choice('type', ['Node', 'RBAC', 'Webhook', 'AlwaysAllowGroups', 'AlwaysAllowPaths']);
  if (type !== 'Webhook' && seen.types.has(type)) throw problem(`${part.at}.type`, `${type} is given twice`);
  seen.types.add(type);
  const name = part.required('name');
  if (seen.names.has(name)) throw problem(`${part.at}.name`, `${JSON.stringify(name)} is given twice`);
  const [wrong] = names.dns1123Subdomain(name);
  if (wrong !== undefined) throw problem(`${part.at}.name`, wrong);
  seen.names.add(name);
  if (type === 'Webhook') return webhookOf(part.child('webhook'), name, connect);
  if (part.has('webhook')) throw problem(`${part.at}.webhook`, 'may only be specified when type is Webhook');
  return { type };
}

const webhookFields = [
  ...['authorizedTTL', 'cacheAuthorizedRequests', 'unauthorizedTTL', 'cacheUnauthorizedRequests', 'timeout', 'failurePolicy'],
  ...['subjectAccessReviewVersion', 'matchConditionSubjectAccessReviewVersion', 'connectionInfo', 'matchConditions'],
];

function webhookOf(part: Part, name: string, connect: Connect): AuthorizerSetting {
  part.only(webhookFields);
  const timeout = part.duration('timeout');
  if (timeout === undefined) throw problem(`${part.at}.timeout`, 'is required');
  if (timeout > 30 * second) throw problem(`${part.at}.timeout`, 'must be more than 0s and at most 30s');
  const conditions = conditionsOf(part);
  if (conditions.length > 0 || part.has('matchConditionSubjectAccessReviewVersion'))
    part.choice('matchConditionSubjectAccessReviewVersion', ['v1']);
  const connection = part.child('connectionInfo');
  connection.only(['type', 'kubeConfigFile']);
  connection.choice('type', ['KubeConfigFile']);
  return {
    type: 'Webhook',
    name,
    timeout,
    version: part.choice('subjectAccessReviewVersion', ['v1', 'v1beta1']),
    failurePolicy: part.choice('failurePolicy', ['NoOpinion', 'Deny']),
    allowedLifetime: part.flag('cacheAuthorizedRequests') ? (part.duration('authorizedTTL') ?? 300 * second) : 0,
    otherLifetime: part.flag('cacheUnauthorizedRequests') ? (part.duration('unauthorizedTTL') ?? 30 * second) : 0,
    conditions,
    connection: connect(connection.required('kubeConfigFile')),
  };
}

function conditionsOf(part: Part): Condition[] {
  const items = part.list('matchConditions');
  if (items.length > mostConditions) throw problem(`${part.at}.matchConditions`, `must have at most ${mostConditions} items`);
  return items.map((item) => {
    item.only(['expression']);
    const source = item.required('expression');
    try {
      return compileCondition(source);
    } catch (error) {
      throw problem(`${item.at}.expression`, (error as Error).message);
    }
  });
}

/** A mapping in the file, with its path. */
class Part {
  readonly at: string;
  readonly #value: JsonObject;

  constructor(at: string, value: unknown) {
    if (!isObject(value)) throw problem(at, 'expected a mapping');
    this.at = at;
    this.#value = value as JsonObject;
  }

  only(known: readonly string[]): void {
    const unknown = Object.keys(this.#value).find((key) => !known.includes(key));
    if (unknown !== undefined) throw problem(`${this.at}.${unknown}`, `unknown field; expected one of ${known.join(', ')}`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#value, name) && this.#value[name] !== null;
  }

  child(name: string): Part {
    if (!this.has(name)) throw problem(`${this.at}.${name}`, 'is required');
    return new Part(`${this.at}.${name}`, this.#value[name]);
  }

  list(name: string): Part[] {
    const items = this.has(name) ? this.#value[name] : [];
    if (!Array.isArray(items)) throw problem(`${this.at}.${name}`, 'expected a list');
    return items.map((item, index) => new Part(`${this.at}.${name}[${index}]`, item));
  }

  required(name: string): string {
    const value = this.has(name) ? this.#value[name] : '';
    if (typeof value !== 'string') throw problem(`${this.at}.${name}`, 'expected a string');
    if (value.trim() === '') throw problem(`${this.at}.${name}`, 'is required');
    return value;
  }

  choice<Word extends string>(name: string, words: readonly Word[]): Word {
    const value = this.required(name);
    const word = words.find((one) => one === value);
    if (word === undefined) throw problem(`${this.at}.${name}`, `expected ${words.join(' or ')}, found ${JSON.stringify(value)}`);
    return word;
  }

  /** Defaults to true. */
  flag(name: string): boolean {
    const value = this.has(name) ? this.#value[name] : true;
    if (typeof value !== 'boolean') throw problem(`${this.at}.${name}`, 'expected true or false');
    return value;
  }

  /** In milliseconds. */
  duration(name: string): number | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#value[name];
    const parsed = typeof value === 'string' ? durationIn(value) : undefined;
    if (parsed === undefined || parsed <= 0) throw problem(`${this.at}.${name}`, 'expected a duration such as 30s, of more than 0s');
    return parsed;
  }
}
