import { randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { appsNamespace } from '@capstan/api';
import { type Client, isAlreadyExists, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { WantedSecret } from '../adapter/contract.ts';
import type { KeptPlan } from '../operations/scene.ts';

export const secretKind = { group: '', version: 'v1', resource: 'secrets', namespaced: true };

type SecretObject = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** The secrets and facts of an instance. */
export interface KeptValues {
  readonly secrets: ReadonlyMap<string, string>;
  readonly facts: Readonly<Record<string, string>>;
}

const secretPrefix = 'secret.';
const factPrefix = 'fact.';
const planKey = 'plan';
/** A Secret has at most one mebibyte, in base64. */
const mostPlan = 720_000;

/** Secrets, facts and the current plan of an instance: two Secrets of the namespace `apps`, named by its UID. */
export class Keeper {
  readonly #client: Client;
  readonly #uid: string;

  constructor(platform: Client, uid: string) {
    this.#client = platform;
    this.#uid = uid;
  }

  async values(): Promise<KeptValues> {
    const { data = {} } = (await this.#get(this.#uid)) ?? {};
    const secrets = new Map<string, string>();
    const facts: Record<string, string> = {};
    for (const [key, value] of Object.entries(data)) {
      const text = Buffer.from(value, 'base64').toString('utf8');
      if (key.startsWith(secretPrefix)) secrets.set(key.slice(secretPrefix.length), text);
      else if (key.startsWith(factPrefix)) facts[key.slice(factPrefix.length)] = text;
    }
    return { secrets, facts };
  }

  /** Makes those that do not exist. */
  async ensureSecrets(wanted: readonly WantedSecret[], { secrets }: KeptValues): Promise<void> {
    const missing = wanted.filter(({ name }) => !secrets.has(name));
    if (missing.length === 0) return;
    const made = missing.map(({ name, bytes, encoding }) => [`${secretPrefix}${name}`, randomBytes(bytes).toString(encoding)] as const);
    await this.#merge(this.#uid, Object.fromEntries(made));
  }

  keep({ facts, secrets }: Readonly<Record<'facts' | 'secrets', Readonly<Record<string, string>>>>): Promise<void> {
    const withPrefix = (prefix: string, values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value] as const);
    return this.#merge(this.#uid, Object.fromEntries([...withPrefix(factPrefix, facts), ...withPrefix(secretPrefix, secrets)]));
  }

  async plan(): Promise<KeptPlan | undefined> {
    const text = (await this.#get(`${this.#uid}-plan`))?.data?.[planKey];
    if (text === undefined) return undefined;
    return JSON.parse(gunzipSync(Buffer.from(text, 'base64')).toString('utf8')) as KeptPlan;
  }

  /** Returns false if the plan is too large to be kept. */
  async keepPlan(plan: KeptPlan): Promise<boolean> {
    const bytes = gzipSync(JSON.stringify(plan));
    if (bytes.length > mostPlan) return false;
    await this.#mergeData(`${this.#uid}-plan`, { [planKey]: bytes.toString('base64') });
    return true;
  }

  async forget(): Promise<void> {
    for (const name of [this.#uid, `${this.#uid}-plan`]) await ignoring(this.#secrets().delete(name), isNotFound);
  }

  #secrets() {
    return this.#client.resource<SecretObject>(secretKind).in(appsNamespace);
  }

  #get(name: string): Promise<SecretObject | undefined> {
    return ignoring(this.#secrets().get(name), isNotFound);
  }

  #merge(name: string, values: Readonly<Record<string, string>>): Promise<void> {
    return this.#mergeData(
      name,
      Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
    );
  }

  async #mergeData(name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const metadata = { name, namespace: appsNamespace };
    const patched = await ignoring(this.#secrets().patch(name, { type: 'merge', patch: { data: { ...data } } }), isNotFound);
    if (patched !== undefined) return;
    const made = await ignoring(
      this.#secrets().create({ apiVersion: 'v1', kind: 'Secret', metadata, data } as SecretObject),
      isAlreadyExists,
    );
    if (made === undefined) await this.#secrets().patch(name, { type: 'merge', patch: { data: { ...data } } });
  }
}
