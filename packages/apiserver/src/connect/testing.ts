import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueCertificate } from '@capstan/pki';
import { FakeKubelet } from '@capstan/streams/testing';
import type { TestServer } from '../testing/harness.ts';

const hour = 60 * 60 * 1000;

/** A kubelet with a certificate of the server's authority, or one that it has signed itself. */
export async function startKubelet(server: TestServer, { selfSigned = false } = {}): Promise<FakeKubelet> {
  const file = (name: string): Promise<string> => readFile(join(server.directory, 'pki', name), 'utf8');
  const [authority, authorityKey] = await Promise.all([file('ca.crt'), file('ca.key')]);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = Date.now();
  const certificate = issueCertificate(
    {
      commonName: 'kubelet',
      publicKey: createPublicKey(privateKey),
      notBefore: new Date(now - hour),
      notAfter: new Date(now + hour),
      usage: 'server',
      hosts: ['127.0.0.1'],
    },
    selfSigned ? { key: privateKey } : { key: createPrivateKey(authorityKey), certificate: new X509Certificate(authority) },
  );
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return FakeKubelet.start({ certificate, key, authority });
}

/** Creates a node with the address of the kubelet, and a pod on it with the containers `main` and `broken`. */
export async function createNodeAndPod(
  server: TestServer,
  { port }: Pick<FakeKubelet, 'port'>,
  names = { node: 'n1', pod: 'web' },
): Promise<void> {
  const call = async (path: string, method: string, body: object): Promise<void> => {
    const reply = await server.call(path, { method, body });
    if (reply.code > 201) throw new Error(`${method} ${path}: ${reply.text}`);
  };
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  const meta = { apiVersion: 'v1', kind: 'Node', metadata: { name: names.node } };
  await call('/api/v1/nodes', 'POST', meta);
  await call(`/api/v1/nodes/${names.node}/status`, 'PUT', { ...meta, status });
  const containers = [
    { name: 'main', image: 'x', ports: [{ containerPort: 80 }] },
    { name: 'broken', image: 'x' },
  ];
  const annotations = { 'kubectl.kubernetes.io/default-container': 'main' };
  await call('/api/v1/namespaces/default/pods', 'POST', {
    metadata: { name: names.pod, annotations },
    spec: { nodeName: names.node, containers },
  });
}
