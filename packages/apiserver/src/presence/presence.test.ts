import { X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startServer } from '../server/server.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { differingFiles } from './installation.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

async function servedNames(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await new Promise((done, fail) => socket.once('secureConnect', done).once('error', fail));
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return new X509Certificate(raw).subjectAltName ?? '';
}

describe('a server that advertises an address', () => {
  it('publishes it in kubeconfigs, the Shard, its Lease and its certificate', async () => {
    const names = ['api.example.com'];
    await using server = await startTestServer({ host: '0.0.0.0', advertise: { host: 'localhost' }, names });
    const { port } = new URL(server.url);
    expect(server.url).toBe(`https://localhost:${port}`);
    const config = load(readFileSync(server.kubeconfigPath, 'utf8')) as { clusters: { cluster: { server: string } }[] };
    expect(config.clusters.map(({ cluster }) => cluster.server)).toContain(`https://localhost:${port}/clusters/root`);
    const shard = (await server.call('/apis/core.kcp.io/v1alpha1/shards/root')).json() as { spec?: { externalURL?: string } };
    expect(shard.spec?.externalURL).toBe(server.url);
    expect(await servedNames(server.url)).toContain('DNS:api.example.com');
  });
});

describe('the Lease of a server', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const own = async () => (await server.call(leases)).json().items!.filter(({ metadata }) => metadata.name!.startsWith('apiserver-'));

  it("holds the server's address and keeps its name after a restart", async () => {
    const [lease, ...others] = await own();
    expect(others).toEqual([]);
    expect(lease!.metadata.labels).toMatchObject({ 'apiserver.kubernetes.io/identity': 'kube-apiserver' });
    expect(lease!.metadata.annotations).toMatchObject({ 'capstan.dev/url': server.url });
    await server.restart();
    const again = await own();
    expect(again.map(({ metadata }) => metadata.name)).toEqual([lease!.metadata.name]);
    expect(again[0]!.metadata.annotations).toMatchObject({ 'capstan.dev/url': server.url });
  });

  it('updates the URL of the Shard when the server restarts at another address', async () => {
    const before = server.url;
    await server.restart();
    const shard = (await server.call('/apis/core.kcp.io/v1alpha1/shards/root')).json() as { spec?: { externalURL?: string } };
    expect(server.url).not.toBe(before);
    expect(shard.spec?.externalURL).toBe(server.url);
  });
});

it('a server warns that its store was used with another certificate authority', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'presence-'));
  try {
    const lines: string[] = [];
    const options = { dataDirectory: directory, host: '127.0.0.1', port: 0, log: (line: string) => void lines.push(line) };
    await (await startServer(options))[Symbol.asyncDispose]();
    cpSync(join(directory, 'pki'), join(directory, 'kept'), { recursive: true });
    rmSync(join(directory, 'pki'), { recursive: true });
    expect(lines).toEqual([]);
    await (await startServer(options))[Symbol.asyncDispose]();
    expect(lines.join()).toContain('last served with another certificate authority');
    rmSync(join(directory, 'pki'), { recursive: true });
    cpSync(join(directory, 'kept'), join(directory, 'pki'), { recursive: true });
    await (await startServer(options))[Symbol.asyncDispose]();
    lines.length = 0;
    await (await startServer(options))[Symbol.asyncDispose]();
    expect(lines).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

it.each([
  [{}, []],
  [{ authority: 'x' }, ['ca.crt and ca.key']],
  [{ signer: 'x' }, ['signer.crt and signer.key']],
  [{ signer: undefined }, []],
  [{ authority: 'x', serviceAccountKey: 'x' }, ['ca.crt and ca.key', 'sa.key']],
])('a difference in %j is reported as the files %j', (change, files) => {
  const ours = { authority: 'a', signer: 's', serviceAccountKey: 'k' };
  expect(differingFiles(ours, { ...ours, ...change })).toEqual(files);
});

const phases = {
  standby: { authority: 'old', signer: 's' },
  prepare: { authority: 'old', signer: 's', otherAuthority: 'new', otherSigner: 't' },
  switch: { authority: 'new', signer: 't', otherAuthority: 'old', otherSigner: 's' },
  retired: { authority: 'new', signer: 't' },
};
it.each([
  ['standby', 'prepare', []],
  ['prepare', 'switch', []],
  ['switch', 'retired', []],
  ['standby', 'switch', ['ca.crt and ca.key', 'signer.crt and signer.key', 'rotation.json']],
  ['prepare', 'retired', ['ca.crt and ca.key', 'signer.crt and signer.key', 'rotation.json']],
  ['standby', 'retired', ['ca.crt and ca.key', 'signer.crt and signer.key']],
] as const)('between servers in the phases %s and %s, %j differ', (one, other, files) => {
  const [ours, theirs] = [one, other].map((phase) => ({ serviceAccountKey: 'k', ...phases[phase] }));
  expect([differingFiles(ours!, theirs!), differingFiles(theirs!, ours!)]).toEqual([files, files]);
});
