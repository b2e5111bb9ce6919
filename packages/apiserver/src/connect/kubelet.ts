import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import { fieldsOf, itemsOf, type KubeObject, numberOf, StatusError, status, textOf } from '@capstan/machinery';
import type { KeyPair } from '@capstan/pki';
import { networkFailure } from '../http/network-failure.ts';
import type { Sockets } from '../http/sockets.ts';
import { isStale } from '../http/stale-connection.ts';
import { trusting } from '../http/trust.ts';
import { keepFewIdle } from './dialled.ts';

/** The types of addresses of nodes, in the order in which kube-apiserver prefers them. */
export const addressTypes = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'] as const;
export type AddressType = (typeof addressTypes)[number];

export interface KubeletOptions {
  /** Which of a node's addresses to use: the first type that it has. */
  readonly addressTypes?: readonly AddressType[];
  /** PEM of authorities for the serving certificates of kubelets, beside our own. */
  readonly authorities?: string;
  /** Accepts any serving certificate, such as those that kubelets sign themselves. Whoever is on the network can then read and change streams. */
  readonly skipCertificateCheck?: boolean;
}

export interface KubeletCredentials {
  /** Undefined if there is no certificate and nothing can be signed. */
  readonly client: Pick<KeyPair, 'certificate' | 'key'> | undefined;
  /** PEM of our own authorities. */
  readonly authorities: string;
}

export interface Kubelet {
  readonly node: string;
  readonly host: string;
  readonly port: number;
}

export interface KubeletRequest {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  /** `name, value, name, value…`. */
  readonly headers?: readonly string[];
  readonly body?: NodeJS.ReadableStream | undefined;
  readonly signal: AbortSignal;
  /** For this request only. */
  readonly skipCertificateCheck?: boolean;
}

/** The answer to a request to change protocols: the connection, or an ordinary response that refuses. */
export type UpgradeAnswer =
  | { readonly kind: 'upgraded'; readonly socket: Duplex; readonly head: Buffer; readonly rawHeaders: readonly string[] }
  | { readonly kind: 'refused'; readonly response: IncomingMessage };

const defaultPort = 10_250;
/** How long to wait for the response to start, in milliseconds. */
const patience = 30_000;

/**
 * The protocol in its form on the wire. Node copies it for each connection: a list, or bytes in a `Uint8Array`, into a slice of a shared buffer of 64 KiB, which
 * lives as long as the connection.
 */
const http11 = new DataView(Uint8Array.from([8, ...Buffer.from('http/1.1')]).buffer);

/** Calls kubelets with the server's client certificate. */
export class KubeletClient implements Disposable {
  readonly #options: KubeletOptions;
  #credentials: KubeletCredentials;
  readonly #sockets: Sockets;
  readonly #agents = new Map<boolean, Agent>();

  constructor(options: KubeletOptions, { credentials, sockets }: { credentials: KubeletCredentials; sockets: Sockets }) {
    this.#options = options;
    this.#sockets = sockets;
    this.#credentials = credentials;
  }

  /** New connections use these; open streams keep theirs. */
  replaceCredentials(credentials: KubeletCredentials): void {
    this.#credentials = credentials;
    this.#agents.clear();
  }

  [Symbol.dispose](): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /** Where the kubelet of a node listens. */
  of(node: KubeObject): Kubelet {
    const { name = '' } = node.metadata;
    const reported = fieldsOf(node['status']);
    const addresses = itemsOf(reported['addresses']);
    const endpoint = fieldsOf(fieldsOf(reported['daemonEndpoints'])['kubeletEndpoint']);
    for (const type of this.#options.addressTypes ?? addressTypes) {
      const found = addresses.find((address) => address['type'] === type && textOf(address['address']) !== '');
      if (found !== undefined) return { node: name, host: textOf(found['address']), port: numberOf(endpoint['Port']) || defaultPort };
    }
    throw new StatusError({ code: 500, message: `no preferred addresses found; known addresses: ${JSON.stringify(addresses)}` });
  }

  /** Resolves with the response, whatever its status. */
  send(kubelet: Kubelet, sent: KubeletRequest): Promise<IncomingMessage> {
    return this.#start(kubelet, sent, (outgoing, settle) => outgoing.on('response', settle));
  }

  /** On a connection of its own: a command on a kept one that the kubelet has just closed could not be sent again. */
  upgrade(kubelet: Kubelet, sent: KubeletRequest): Promise<UpgradeAnswer> {
    return this.#start<UpgradeAnswer>(kubelet, { ...sent, isAlone: true }, (outgoing, settle) => {
      outgoing.on('response', (response) => settle({ kind: 'refused', response }));
      outgoing.on('upgrade', (response, socket, head) => settle({ kind: 'upgraded', socket, head, rawHeaders: response.rawHeaders }));
    });
  }

  #start<Answer>(
    kubelet: Kubelet,
    sent: KubeletRequest & { readonly isAlone?: boolean },
    listen: (outgoing: ReturnType<typeof request>, settle: (answer: Answer) => void) => void,
  ): Promise<Answer> {
    const { method, path, headers = [], body, signal, skipCertificateCheck, isAlone = false } = sent;
    const { node, host, port } = kubelet;
    const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
    return new Promise((resolve, reject) => {
      const agent = this.#agent(skipCertificateCheck ?? this.#options.skipCertificateCheck ?? false);
      const outgoing = request({
        ...(isAlone ? { ...agent.options, agent: false } : { agent }),
        host,
        port,
        method,
        path,
        headers: ['Host', authority, ...headers],
        setDefaultHeaders: false,
        signal,
      });
      const giveUp = setTimeout(() => outgoing.destroy(new Error(`no answer within ${patience / 1000} s`)), patience);
      const settle = (answer: Answer): void => {
        clearTimeout(giveUp);
        resolve(answer);
      };
      outgoing.on('error', (error) => {
        clearTimeout(giveUp);
        if (isRead(sent) && isStale(outgoing, error)) resolve(this.#start(kubelet, sent, listen));
        else reject(new StatusError({ code: 500, message: `error dialing backend: ${networkFailure(error)}${hint(error, node)}` }));
      });
      listen(outgoing, settle);
      if (body === undefined) outgoing.end();
      else body.pipe(outgoing);
    });
  }

  #agent(skipCertificateCheck: boolean): Agent {
    const { client, authorities } = this.#credentials;
    if (client === undefined)
      throw status.serviceUnavailable('the server has no client certificate for kubelets: add the key of ca.crt to its pki folder');
    let agent = this.#agents.get(skipCertificateCheck);
    if (agent === undefined) {
      const pool = new Agent({
        keepAlive: true,
        // Node would make one for each connection, with all certificates in it.
        secureContext: createSecureContext({
          cert: client.certificate,
          key: client.key,
          ...trusting([authorities, this.#options.authorities ?? ''].join('\n')),
        }),
        rejectUnauthorized: !skipCertificateCheck,
        ALPNProtocols: http11,
      });
      agent = keepFewIdle(pool, this.#sockets);
      this.#agents.set(skipCertificateCheck, agent);
    }
    return agent;
  }
}

/** Whether the kubelet may receive the request twice. */
const isRead = ({ method, body }: KubeletRequest): boolean => (method === 'GET' || method === 'HEAD') && body === undefined;

function hint(error: NodeJS.ErrnoException, node: string): string {
  if (!networkFailure(error).startsWith('tls: failed to verify certificate')) return '';
  return `. The serving certificate of node ${node} must be signed by this server's authority or by one in kubelets.authorityFile; kubelets.skipCertificateCheck accepts any`;
}
