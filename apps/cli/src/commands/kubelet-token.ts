import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { kubeletBootstrappersGroup } from '@capstan/api';
import { Client, type Connection, defaultConnection } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { type ConnectionFlags, userAgent } from '../workspaces/connection.ts';

export interface KubeletTokenFlags extends ConnectionFlags {
  readonly hours: number;
  readonly description?: string;
  readonly bootstrapKubeconfig?: string;
}

const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true };

/** Creates a token with which new kubelets join, and prints it. */
export async function createKubeletToken(flags: KubeletTokenFlags): Promise<void> {
  const connection = rootConnection(flags);
  const token = { id: randomText(6), secret: randomText(16) };
  const text = `${token.id}.${token.secret}`;
  if (flags.bootstrapKubeconfig !== undefined) writeNew(flags.bootstrapKubeconfig, bootstrapKubeconfig(connection, text));
  using client = new Client(connection, { userAgent });
  const expiration = new Date(Date.now() + flags.hours * 3_600_000);
  await client
    .resource(secrets)
    .in('kube-system')
    .create(tokenSecret(token, { expiration, description: flags.description }));
  process.stdout.write(`${text}\n`);
}

/** Kubelets join the root workspace, whichever one the kubeconfig points to. */
function rootConnection({ kubeconfig, context }: ConnectionFlags): Connection {
  try {
    const connection = defaultConnection({
      ...(kubeconfig !== undefined && { path: kubeconfig }),
      ...(context !== undefined && { context }),
    });
    return { ...connection, server: new URL(connection.server).origin };
  } catch (error) {
    throw new Failure('usage', `${(error as Error).message}. Name a kubeconfig with --kubeconfig or in KUBECONFIG.`, error);
  }
}

function randomText(length: number): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
}

export function tokenSecret(
  token: { readonly id: string; readonly secret: string },
  { expiration, description }: { expiration: Date; description: string | undefined },
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${token.id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      ...(description !== undefined && { description }),
      'token-id': token.id,
      'token-secret': token.secret,
      expiration: `${expiration.toISOString().slice(0, 19)}Z`,
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': kubeletBootstrappersGroup,
    },
  };
}

/** The file that a kubelet's flag `--bootstrap-kubeconfig` names. JSON is YAML too. */
export function bootstrapKubeconfig({ server, ca }: Pick<Connection, 'server' | 'ca'>, token: string): string {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'capstan', cluster: { server, ...authority } }],
    users: [{ name: 'bootstrap', user: { token } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'capstan', user: 'bootstrap' } }],
    'current-context': 'bootstrap',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new Failure('usage', `${file} cannot be created: ${(error as Error).message}. Choose another file.`, error);
  }
}
