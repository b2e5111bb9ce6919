import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import type { Artifact } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import { dialTunnel, type NodeConnection, type NodeRequest, type NodeResponse, openTunnel, type Tunnel } from '@capstan/streams';
import type { PageRequest } from '../audit/query/log-reader.ts';
import type { LogPage } from '../audit/query/merge.ts';
import type { OtherLogs } from '../audit/query/query.ts';
import { PositionGone } from '../audit/query/scan.ts';
import { relayPath } from '../node-agents/paths.ts';
import type { Elsewhere } from './node-tunnels.ts';
import { artifactPrefix, auditPrefix, logPrefix, noTunnel, relayedPath, relayHeader, sizeHeader } from './relayed.ts';

export interface OtherServer {
  readonly name: string;
  readonly url: string;
}

export interface RelaysOptions {
  /** The other live API servers. */
  readonly others: () => readonly OtherServer[];
  /** The authority of the servers, and the credentials of this one. */
  readonly tls: () => ConnectionOptions;
  readonly now?: () => number;
  /** How long a node that no server knew is not asked for again, in milliseconds. */
  readonly missFor?: number;
  /** How long a server may take to say whether it has a tunnel, in milliseconds. */
  readonly patience?: number;
  /** How long a server may take to read its audit log, in milliseconds. */
  readonly auditPatience?: number;
}

/** How many servers are asked for one node. */
const mostServers = 16;
/** How many nodes are remembered. */
const capacity = 10_000;

/** Reaches nodes through the tunnels of other API servers: one connection to each of them, opened when it is first needed. */
export class Relays implements Elsewhere {
  readonly #options: RelaysOptions;
  readonly #now: () => number;
  readonly #stop = new AbortController();
  /** By URL. */
  readonly #open = new Map<string, Promise<Tunnel>>();
  /** The URL of the server that last had the tunnel of a node. */
  readonly #places = new BoundedMap<string, string>(capacity);
  readonly #missing = new BoundedMap<string, number>(capacity);
  readonly #searches = new Map<string, Promise<NodeConnection | undefined>>();

  constructor(options: RelaysOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get count(): number {
    return this.#open.size;
  }

  find(node: string): Promise<NodeConnection | undefined> {
    if ((this.#missing.get(node) ?? 0) > this.#now()) return Promise.resolve(undefined);
    let search = this.#searches.get(node);
    if (search === undefined) {
      search = this.#search(node).finally(() => this.#searches.delete(node));
      this.#searches.set(node, search);
    }
    return search;
  }

  /** Output of a unit in the store of another server: of the first that has it. */
  async log(path: string, signal: AbortSignal): Promise<Readable | undefined> {
    for await (const { stream } of this.#answers({ method: 'GET', path: `${logPrefix}${path}`, signal })) return stream;
    return undefined;
  }

  /** An artifact in the store of another server, from a byte on: of the first that has it. */
  async artifact(sha256: string, from: number, signal: AbortSignal): Promise<{ size: number; body: Readable } | undefined> {
    const path = `${artifactPrefix}${sha256}?from=${from}`;
    for await (const { headers, stream } of this.#answers({ method: 'GET', path, signal }))
      return { size: Number(headers[sizeHeader]), body: stream };
    return undefined;
  }

  /** The artifacts of all other servers. */
  async artifacts(signal: AbortSignal): Promise<readonly Artifact[]> {
    const all: Artifact[] = [];
    for await (const { stream } of this.#answers({ method: 'GET', path: artifactPrefix, signal }))
      all.push(...((await json(stream)) as Artifact[]));
    return all;
  }

  /** Removes an artifact from all other servers. Whether any of them had it. */
  async removeArtifact(sha256: string, signal: AbortSignal): Promise<boolean> {
    let wasThere = false;
    for await (const { stream } of this.#answers({ method: 'DELETE', path: `${artifactPrefix}${sha256}`, signal })) {
      stream.destroy();
      wasThere = true;
    }
    return wasThere;
  }

  /** The audit logs of the other servers. */
  readonly auditLogs: OtherLogs = {
    names: () =>
      this.#options
        .others()
        .slice(0, mostServers)
        .map(({ name }) => name),
    page: (server, request) => this.#auditPage(server, request),
  };

  async #auditPage(server: string, request: PageRequest): Promise<LogPage> {
    const { others, auditPatience = 10_000 } = this.#options;
    const url = others().find(({ name }) => name === server)?.url;
    if (url === undefined) throw new Error(`the API server ${server} is gone`);
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(auditPatience)]);
    const opening = sleep(this.#options.patience ?? 2_000, undefined, { ref: false });
    const tunnel = await Promise.race([this.#tunnel(url), opening]);
    if (tunnel === undefined) throw new Error(`the API server at ${url} does not answer`);
    const path = `${auditPrefix}${encodeURIComponent(JSON.stringify(request))}`;
    const { status, stream } = await tunnel.request({ method: 'GET', path, signal });
    stream.end();
    if (status === 200) {
      stream.pause();
      return (await json(stream)) as LogPage;
    }
    stream.destroy();
    throw status === 410 ? new PositionGone() : new Error(`the API server at ${url} answers with ${status}`);
  }

  /** The answers of other servers that have what is asked for, one after the other. */
  async *#answers(request: NodeRequest): AsyncGenerator<NodeResponse, void, undefined> {
    const { others, patience = 2_000 } = this.#options;
    for (const { url } of others().slice(0, mostServers)) {
      try {
        const tunnel = await Promise.race([this.#tunnel(url), sleep(patience, undefined, { ref: false })]);
        const answer = await tunnel?.request(request);
        answer?.stream.end();
        if (answer === undefined || answer.status >= 300) {
          answer?.stream.destroy();
          continue;
        }
        answer.stream.pause();
        yield answer;
      } catch {
        // The next one may have it.
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const opened = await Promise.allSettled(this.#open.values());
    await Promise.all(opened.filter((one) => one.status === 'fulfilled').map(({ value }) => value[Symbol.asyncDispose]()));
  }

  async #search(node: string): Promise<NodeConnection | undefined> {
    const others = this.#options.others();
    const known = this.#places.get(node);
    const urls = others.map(({ url }) => url).slice(0, mostServers);
    if (known !== undefined && urls.includes(known) && (await this.#has(known, node))) return this.#through(known, node);
    try {
      const url = await Promise.any(
        urls.filter((one) => one !== known).map(async (one) => ((await this.#has(one, node)) ? one : Promise.reject())),
      );
      this.#places.set(node, url);
      return this.#through(url, node);
    } catch {
      this.#places.delete(node);
      this.#missing.set(node, this.#now() + (this.#options.missFor ?? 1_000));
      return undefined;
    }
  }

  async #has(url: string, node: string): Promise<boolean> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#options.patience ?? 2_000)]);
    try {
      const { status, stream } = await (await this.#tunnel(url)).request({ method: 'HEAD', path: relayedPath(node, ''), signal });
      stream.destroy();
      return status === 204;
    } catch {
      return false;
    }
  }

  #through(url: string, node: string): NodeConnection {
    return {
      request: async (request: NodeRequest): Promise<NodeResponse> => {
        const tunnel = await this.#tunnel(url);
        const answer = await tunnel.request({ ...request, path: relayedPath(node, request.path) });
        if (answer.headers[relayHeader] === noTunnel) {
          this.#places.delete(node);
          answer.stream.destroy();
          throw new Error(`the node ${node} has lost its tunnel to the API server at ${url}`);
        }
        return answer;
      },
    };
  }

  #tunnel(url: string): Promise<Tunnel> {
    let opening = this.#open.get(url);
    if (opening === undefined) {
      const { tls } = this.#options;
      opening = dialTunnel({ url, tls: tls(), signal: this.#stop.signal, path: relayPath }).then((socket) => openTunnel(socket));
      this.#open.set(url, opening);
      const forget = (): void => void this.#open.delete(url);
      opening.then((tunnel) => tunnel.closed.then(forget), forget);
    }
    return opening;
  }
}
