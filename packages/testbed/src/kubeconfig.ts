import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';

/** Everything a client needs to reach one server, read from a kubeconfig's current context. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly ca: Buffer | undefined;
  readonly certificate: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly token: string | undefined;
}

export type KubeconfigParts = {
  readonly server: string;
  /** If undefined, the server's certificate is not verified. */
  readonly authority?: string;
} & ({ readonly certificate: string; readonly key: string } | { readonly token: string });

export function kubeconfigText(parts: KubeconfigParts): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const trust =
    parts.authority === undefined ? { 'insecure-skip-tls-verify': true } : { 'certificate-authority-data': base64(parts.authority) };
  const user =
    'token' in parts
      ? { token: parts.token }
      : { 'client-certificate-data': base64(parts.certificate), 'client-key-data': base64(parts.key) };
  // JSON is valid YAML, and its quoting is always right.
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: parts.server, ...trust } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });
}

type Fields = Readonly<Record<string, string | undefined>>;
type Entries<Key extends string> = readonly ({ readonly name: string } & { readonly [K in Key]: Fields })[];

interface Kubeconfig {
  readonly clusters: Entries<'cluster'>;
  readonly users: Entries<'user'>;
  readonly contexts: Entries<'context'>;
  readonly 'current-context': string;
}

export function readConnection(file: string): Connection {
  const config = load(readFileSync(file, 'utf8')) as Kubeconfig;
  const context = named(config.contexts, config['current-context'], file).context;
  const { cluster } = named(config.clusters, context['cluster'], file);
  const { user } = named(config.users, context['user'], file);
  const url = new URL(cluster['server'] ?? '');
  return {
    host: url.hostname,
    port: Number(url.port || 443),
    ca: material(cluster, 'certificate-authority'),
    certificate: material(user, 'client-certificate'),
    key: material(user, 'client-key'),
    token: user['token'],
  };
}

function named<Item extends { readonly name: string }>(items: readonly Item[], name: string | undefined, file: string): Item {
  const item = items.find((candidate) => candidate.name === name);
  if (item === undefined) throw new Error(`${file}: expected an entry named ${name}, found ${items.map((other) => other.name).join(', ')}`);
  return item;
}

function material(fields: Fields, name: string): Buffer | undefined {
  const data = fields[`${name}-data`];
  if (data !== undefined) return Buffer.from(data, 'base64');
  const path = fields[name];
  return path === undefined ? undefined : readFileSync(path);
}
