import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from './apiserver-client.ts';

interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly ownerReferences?: readonly unknown[];
}
export interface Item {
  readonly metadata: Metadata;
  readonly status?: { readonly used?: Readonly<Record<string, string>> };
}

const width = 32;

/** An administrator who creates and counts many ConfigMaps. */
export class CascadeClient implements Disposable {
  readonly #client: ApiClient;

  constructor(kubeconfig: string) {
    this.#client = new ApiClient(kubeconfig);
  }

  async makeNamespace(name: string): Promise<void> {
    await this.#write('POST', '/api/v1/namespaces', { metadata: { name } });
  }

  async make(namespace: string, name: string, owner?: Item): Promise<Item> {
    const ownerReferences = owner && [
      { apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid, blockOwnerDeletion: true },
    ];
    return this.#write('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
      metadata: { name, labels: { test: 'yes' }, ownerReferences },
    });
  }

  /** Creates one with a finalizer, so that it stays until it is released. */
  async makeHeld(namespace: string, name: string): Promise<void> {
    const metadata = { name, labels: { test: 'yes' }, finalizers: ['example.com/held'] };
    await this.#write('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata });
  }

  async release(path: string): Promise<void> {
    const value = { metadata: { finalizers: null } };
    await this.#must('PATCH', path, { type: 'application/merge-patch+json', value });
  }

  async makeMany(namespace: string, count: number, owner?: Item): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => index).values();
    const work = async (): Promise<void> => {
      for (const number of numbers) await this.make(namespace, `map-${number}`, owner);
    };
    await Promise.all(Array.from({ length: width }, work));
  }

  async makeQuota(namespace: string, name: string): Promise<void> {
    await this.#write('POST', `/api/v1/namespaces/${namespace}/resourcequotas`, {
      metadata: { name },
      spec: { hard: { 'count/configmaps': '100000' } },
    });
  }

  async delete(path: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background'): Promise<void> {
    await this.#write('DELETE', `${path}?propagationPolicy=${propagationPolicy}`);
  }

  /** Undefined if it does not exist. */
  async get(path: string): Promise<Item | undefined> {
    const { status, body } = await this.#client.ask('GET', path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${path} was answered with ${status}: ${body}`);
    return JSON.parse(body) as Item;
  }

  /** The ConfigMaps of the test, without those that every namespace has. */
  async maps(namespace: string): Promise<readonly Item[]> {
    const { body } = await this.#client.ask('GET', `/api/v1/namespaces/${namespace}/configmaps?labelSelector=test`);
    return (JSON.parse(body) as { items: readonly Item[] }).items;
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 60_000; !(await holds()); await sleep(5)) {
      if (Date.now() > end) throw new Error(`still waiting after a minute: ${what}`);
    }
  }

  #write(method: string, path: string, value?: unknown): Promise<Item> {
    return this.#must(method, path, value === undefined ? undefined : { type: 'application/json', value });
  }

  async #must(method: string, path: string, content?: { readonly type: string; readonly value: unknown }): Promise<Item> {
    const { status, body } = await this.#client.ask(method, path, content);
    if (status < 200 || status > 299) throw new Error(`${method} ${path} was answered with ${status}: ${body}`);
    return JSON.parse(body) as Item;
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }
}
