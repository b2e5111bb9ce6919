import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { type RotationAction, type RotationPhase, rotate } from '@capstan/pki';
import { load } from 'js-yaml';
import { expect, it, vi } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const patience = { timeout: 20_000, interval: 20 };

interface Client {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

interface Rotating extends AsyncDisposable {
  readonly server: TestServer;
  readonly lines: string[];
  /** Takes a step and waits until the server has followed. */
  readonly step: (action: RotationAction) => Promise<void>;
}

async function startRotating(): Promise<Rotating> {
  const lines: string[] = [];
  const server = await startTestServer({ log: (line) => void lines.push(line) });
  const phases: Readonly<Record<RotationAction, RotationPhase>> = {
    prepare: 'prepare',
    switch: 'switch',
    retire: 'standby',
    rollback: 'standby',
  };
  return {
    server,
    lines,
    step: async (action) => {
      lines.length = 0;
      await rotate(join(server.directory, 'pki'), action, new Date());
      await vi.waitFor(() => expect(lines).toContain(`the authority is in the phase ${phases[action]}`), patience);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The administrator as the files in pki/ describe it now: it trusts one authority. */
function fromFiles({ directory }: TestServer): Client {
  const read = (name: string): string => readFileSync(join(directory, 'pki', name), 'utf8');
  return { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
}

function fromKubeconfig({ kubeconfigPath }: TestServer): Client {
  const { clusters, users } = load(readFileSync(kubeconfigPath, 'utf8')) as {
    clusters: { cluster: Record<string, string> }[];
    users: { name: string; user: Record<string, string> }[];
  };
  const text = (value: string | undefined): string => Buffer.from(value ?? '', 'base64').toString();
  const { user } = users.find(({ name }) => name === 'kubernetes-admin')!;
  return {
    ca: text(clusters[0]!.cluster['certificate-authority-data']),
    cert: text(user['client-certificate-data']),
    key: text(user['client-key-data']),
  };
}

/** The code of the answer to a new connection; `untrusted` if the client does not accept the server. */
function answer({ url }: TestServer, client: Client, path = '/api/v1/namespaces'): Promise<number | string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, { agent: false, ...client }, (incoming) => resolve(incoming.resume().statusCode ?? 0));
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      /CERT|SIGNATURE|VERIFY|ISSUER/i.test(error.code ?? '') ? resolve('untrusted') : reject(error),
    );
    outgoing.end();
  });
}

const blocks = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;
const bundleOf = async (server: TestServer): Promise<number> => blocks((await server.call('/capstan/authority', { anonymous: true })).text);

it('clients of both authorities are served until the old one is retired, without a restart', async () => {
  await using rotating = await startRotating();
  const { server, step } = rotating;
  const old = fromFiles(server);
  await step('prepare');
  await vi.waitFor(() => expect(blocks(fromKubeconfig(server).ca)).toBe(2), patience);
  const prepared = fromKubeconfig(server);
  expect([await answer(server, old), await answer(server, prepared), await bundleOf(server)]).toEqual([200, 200, 2]);
  await step('switch');
  const created = fromFiles(server);
  expect(created.ca).not.toBe(old.ca);
  expect([await answer(server, old), await answer(server, prepared), await answer(server, created)]).toEqual([200, 200, 200]);
  await vi.waitFor(async () => {
    const published = await server.call('/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication');
    expect((published.json() as { data?: Record<string, string> }).data?.['client-ca-file']).toBe(created.ca + old.ca);
    const { metadata } = (await server.call('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases')).json().items![0]!;
    expect(metadata.annotations?.['capstan.dev/authority-phase']).toBe('switch');
  }, patience);
  await step('retire');
  await vi.waitFor(() => expect(blocks(fromKubeconfig(server).ca)).toBe(1), patience);
  expect([await answer(server, old), await answer(server, created), await answer(server, fromKubeconfig(server))]).toEqual([
    'untrusted',
    200,
    200,
  ]);
  expect(await answer(server, { ...old, ca: created.ca })).toBe(401);
  // This connection is older than the rotation.
  expect((await server.call('/api/v1/namespaces')).code).toBe(401);
  await server.restart();
  expect((await server.call('/api/v1/namespaces')).code).toBe(200);
  expect(rotating.lines.join()).not.toContain('another certificate authority');
});

it.each(['prepare', 'switch'] as const)('a rollback from %s leaves clients of the old authority alone', async (phase) => {
  await using rotating = await startRotating();
  const { server, step } = rotating;
  const old = fromFiles(server);
  await step('prepare');
  if (phase === 'switch') await step('switch');
  await vi.waitFor(() => {
    expect(blocks(fromKubeconfig(server).ca)).toBe(2);
    expect(fromKubeconfig(server).cert).toBe(fromFiles(server).cert);
  }, patience);
  const [during, kubeconfig] = [fromFiles(server), fromKubeconfig(server)];
  await step('rollback');
  expect([await answer(server, old), await bundleOf(server)]).toEqual([200, 1]);
  expect((await server.call('/api/v1/namespaces')).code).toBe(200);
  expect(await answer(server, during)).toBe(phase === 'switch' ? 'untrusted' : 200);
  // A client that took a kubeconfig in between still trusts the server, which may not know its certificate.
  expect(await answer(server, kubeconfig)).toBe(phase === 'switch' ? 401 : 200);
  await vi.waitFor(() => expect(fromKubeconfig(server)).toEqual(fromFiles(server)), patience);
  expect(await answer(server, fromKubeconfig(server))).toBe(200);
  await step('prepare');
});

it('a server that starts in the middle of a rotation serves clients of both', async () => {
  await using rotating = await startRotating();
  const { server, step } = rotating;
  const old = fromFiles(server);
  await step('prepare');
  await rotate(join(server.directory, 'pki'), 'switch', new Date());
  await server.restart();
  expect([await answer(server, old), await answer(server, fromFiles(server))]).toEqual([200, 200]);
  expect(fromFiles(server).ca).not.toBe(old.ca);
});
