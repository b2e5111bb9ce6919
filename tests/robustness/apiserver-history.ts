import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './apiserver-client.ts';

const path = '/api/v1/namespaces/default/configmaps';

interface Counter {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data: { readonly n: string };
}

/** Counts up in one object, through every interruption, and remembers the acknowledged number. */
export class CountingWriter {
  readonly name: string;
  acknowledged = -1;
  readonly faults: string[] = [];
  readonly #client: ApiClient;

  constructor(client: ApiClient, name: string) {
    this.#client = client;
    this.name = name;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#write(this.acknowledged + 1);
      } catch {
        // The server died. Whether the write took effect is unknown until it is back.
        await this.#recover(signal);
      }
    }
  }

  async read(): Promise<number> {
    const { status, body } = await this.#client.ask('GET', `${path}/${this.name}`);
    if (status === 404) return -1;
    if (status !== 200) throw new Error(`GET was answered with ${status}: ${body}`);
    return Number((JSON.parse(body) as Counter).data.n);
  }

  async #write(n: number): Promise<void> {
    const data = { n: String(n) };
    const { status, body } =
      n === 0
        ? await this.#client.ask('POST', path, {
            type: 'application/json',
            value: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: this.name }, data },
          })
        : await this.#client.ask('PATCH', `${path}/${this.name}`, { type: 'application/merge-patch+json', value: { data } });
    if (status === 200 || status === 201) this.acknowledged = n;
    else if (status < 500) this.faults.push(`${this.name}: writing ${n} was answered with ${status}: ${body}`);
    else throw new Error(body);
  }

  async #recover(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const there = await this.read();
        if (there < this.acknowledged) this.faults.push(`${this.name}: ${this.acknowledged} was acknowledged, but ${there} is stored`);
        this.acknowledged = there;
        return;
      } catch {
        await sleep(20);
      }
    }
  }
}

/** Watches all counters and resumes after every interruption. Each number must arrive once and in order. */
export class ResumingWatcher {
  readonly seen = new Map<string, number>();
  readonly faults: string[] = [];
  resumed = 0;
  readonly #client: ApiClient;
  #version: string;

  constructor(client: ApiClient, version: string) {
    this.#client = client;
    this.#version = version;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#client.stream(`${path}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#version}`, signal, (line) =>
        this.#event(line),
      );
      this.resumed++;
      await sleep(20);
    }
  }

  #event(line: string): void {
    const { type, object } = JSON.parse(line) as { type: string; object: Counter };
    if (type === 'ERROR' || type === 'DELETED') {
      this.faults.push(`unexpected ${line.slice(0, 300)}`);
      return;
    }
    const { name, resourceVersion } = object.metadata;
    if (type !== 'BOOKMARK') {
      if (Number(resourceVersion) <= Number(this.#version))
        this.faults.push(`${name}: version ${resourceVersion} arrived after ${this.#version}`);
      const expected = (this.seen.get(name) ?? -1) + 1;
      if (Number(object.data.n) !== expected) this.faults.push(`${name}: expected ${expected}, got ${object.data.n}`);
      this.seen.set(name, Number(object.data.n));
    }
    this.#version = resourceVersion;
  }
}

export async function newestVersion(client: ApiClient): Promise<string> {
  const { body } = await client.ask('GET', `${path}?limit=1`);
  return (JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}
