import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIPv6 } from 'node:net';
import { StatusError } from '@capstan/machinery';
import { networkFailure } from '../http/network-failure.ts';
import { isStale } from '../http/stale-connection.ts';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';
import { type Dialled, keepFewIdle } from './dialled.ts';
import { proxiedBody } from './html-links.ts';
import type { UpgradeAnswer } from './kubelet.ts';
import type { OpenStream } from './open-streams.ts';
import { passThrough } from './pass-through.ts';
import { proxiedHeaders, returnedHeaders, rewriteLocation } from './proxy-headers.ts';
import { findProxyTarget, type ProxyTarget } from './proxy-target.ts';
import { relayBody } from './relay.ts';
import type { Reach } from './target.ts';
import { type Proxied, proxyThroughTunnel, splitPath } from './tunnel-proxy.ts';

/** How long to wait for the response to start, in milliseconds. */
const patience = 60_000;

/** Passes requests on to pods, services and nodes. */
export class ReverseProxy implements Disposable {
  readonly #reach: Reach & { readonly dialled: Dialled };
  readonly #http: HttpAgent;
  /** Kubernetes does not check the certificates of pods and services either: nobody says what they should be. */
  readonly #https: HttpsAgent;

  constructor(reach: Reach & { readonly dialled: Dialled }) {
    this.#reach = reach;
    const { sockets } = reach.dialled;
    this.#http = keepFewIdle(new HttpAgent({ keepAlive: true }), sockets);
    this.#https = keepFewIdle(new HttpsAgent({ keepAlive: true, rejectUnauthorized: false }), sockets);
  }

  [Symbol.dispose](): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  async serve(stream: OpenStream, context: RequestContext, resource: Resource): Promise<void> {
    const target = await findProxyTarget(this.#reach, context, resource);
    const { exchange } = stream;
    const { prefix, rest } = splitPath(context, resource);
    const query = exchange.url.includes('?') ? exchange.url.slice(exchange.url.indexOf('?')) : '';
    // Relative links on the first page would lead nowhere without a slash at the end of its path.
    if (rest === '' && exchange.upgradeTo === undefined && (exchange.method === 'GET' || exchange.method === 'HEAD')) {
      exchange.header('Location', `${prefix}/${query}`);
      return exchange.send({ code: 301, type: '', body: '' });
    }
    const path = rest === '' ? '/' : rest;
    const proxied = { method: exchange.method, path: `${path}${query}`, headers: proxiedHeaders(exchange, `${prefix}${path}`), prefix };
    if (target.kind === 'tunnel') return proxyThroughTunnel(stream, context, { target, proxied });
    this.#reach.dialled.open(stream, context.user);
    if (exchange.upgradeTo !== undefined) return passThrough(stream, await this.#upgrade(stream, target, proxied));
    const response = await this.#send(stream, target, proxied);
    await this.#answer(stream, response, { origin: originOf(target), ...proxied });
  }

  async #answer(
    stream: OpenStream,
    response: Pick<IncomingMessage, 'rawHeaders' | 'statusCode' | 'headers'> & { body?: never } & IncomingMessage,
    place: { origin: string; path: string; prefix: string },
  ): Promise<void> {
    const { exchange } = stream;
    const code = response.statusCode ?? 502;
    for (const [name, value] of returnedHeaders(response.rawHeaders, (location) => rewriteLocation(location, place)))
      exchange.header(name, value);
    const type = response.headers['content-type'] ?? '';
    if (exchange.method !== 'HEAD' && code !== 204 && code !== 304) {
      const body = proxiedBody(response, { code, type, encoding: response.headers['content-encoding'] }, place);
      return relayBody(stream, { code, type, body });
    }
    response.resume();
    exchange.send({ code, type, body: '' });
  }

  #send(stream: OpenStream, target: DialledTarget, proxied: Proxied): Promise<IncomingMessage> {
    const { exchange, signal } = stream;
    const body = exchange.hasBody ? exchange.bodyStream() : undefined;
    if (target.kind === 'kubelet') return this.#reach.kubelets.send(target.kubelet, { ...proxied, body, signal });
    const isRead = body === undefined && (exchange.method === 'GET' || exchange.method === 'HEAD');
    return this.#dial<IncomingMessage>(target, { ...proxied, mayRepeat: () => isRead && !signal.aborted }, (outgoing, settle) => {
      outgoing.on('response', settle);
      if (body === undefined) outgoing.end();
      else body.pipe(outgoing);
      signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
    });
  }

  #upgrade({ signal }: OpenStream, target: DialledTarget, proxied: Proxied): Promise<UpgradeAnswer> {
    if (target.kind === 'kubelet') return this.#reach.kubelets.upgrade(target.kubelet, { ...proxied, signal });
    return this.#dial<UpgradeAnswer>(target, proxied, (outgoing, settle) => {
      outgoing.on('response', (response) => settle({ kind: 'refused', response }));
      outgoing.on('upgrade', (response, socket, head) => settle({ kind: 'upgraded', socket, head, rawHeaders: response.rawHeaders }));
      outgoing.end();
      signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
    });
  }

  #dial<Answer>(
    target: ProxyTarget & { kind: 'address' },
    proxied: Proxied & { readonly mayRepeat?: () => boolean },
    listen: (outgoing: ReturnType<typeof httpRequest>, settle: (answer: Answer) => void) => void,
  ): Promise<Answer> {
    const { scheme, host, port } = target;
    const { method, path, headers, mayRepeat } = proxied;
    return new Promise((resolve, reject) => {
      const secure = scheme === 'https';
      const outgoing = (secure ? httpsRequest : httpRequest)({
        agent: secure ? this.#https : this.#http,
        host,
        port,
        method,
        path,
        headers: ['Host', hostOf({ host, port }), ...headers],
        setDefaultHeaders: false,
      });
      const giveUp = setTimeout(() => outgoing.destroy(new Error(`no answer within ${patience / 1000} s`)), patience);
      outgoing.on('error', (error) => {
        clearTimeout(giveUp);
        if (mayRepeat?.() === true && isStale(outgoing, error)) return resolve(this.#dial(target, proxied, listen));
        reject(
          new StatusError({ code: 503, reason: 'ServiceUnavailable', message: `error trying to reach service: ${networkFailure(error)}` }),
        );
      });
      listen(outgoing, (answer) => {
        clearTimeout(giveUp);
        resolve(answer);
      });
    });
  }
}

type DialledTarget = Exclude<ProxyTarget, { kind: 'tunnel' }>;

const hostOf = ({ host, port }: { host: string; port: number }): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;

function originOf(target: DialledTarget): string {
  return target.kind === 'kubelet' ? `https://${hostOf(target.kubelet)}` : new URL(`${target.scheme}://${hostOf(target)}`).origin;
}
