import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { connectionOf } from './connection.ts';
import { defaultConnection, inClusterConnection } from './in-cluster.ts';
import { loadKubeconfig, parseKubeconfig } from './kubeconfig.ts';

const folder = mkdtempSync(join(tmpdir(), 'capstan-kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const config = (cluster: string, user: string): string => `
apiVersion: v1
kind: Config
current-context: here
contexts:
- name: here
  context: {cluster: c, user: u, namespace: team}
clusters:
- name: c
  cluster: ${cluster}
users:
- name: u
  user: ${user}
`;
const server = '{server: "https://127.0.0.1:6443"}';
const connect = (cluster: string, user: string) => connectionOf(parseKubeconfig(config(cluster, user), join(folder, 'config')));
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a context', () => {
  test('yields the server with its path, and the namespace', () => {
    const connection = connect('{server: "https://127.0.0.1:6443/clusters/root:org/"}', '{}');
    expect(connection).toMatchObject({ server: 'https://127.0.0.1:6443/clusters/root:org', namespace: 'team' });
  });

  test.each([
    ['data', `{client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}}`],
    ['files beside the kubeconfig', '{client-certificate: my.crt, client-key: my.key}'],
  ])('yields a certificate from %s', async (_what, user) => {
    write('my.crt', 'CERT');
    write('my.key', 'KEY');
    const { certificate } = await connect(server, user).credentials.current();
    expect([certificate?.cert.toString(), certificate?.key.toString()]).toEqual(['CERT', 'KEY']);
  });

  test.each([
    ['a token', '{token: abc}', 'Bearer abc'],
    ['a name and a password', '{username: jane, password: secret}', `Basic ${base64('jane:secret')}`],
    ['a token file, which wins over a token', '{tokenFile: my.token, token: abc}', 'Bearer from-file'],
  ])('signs with %s', async (_what, user, authorization) => {
    write('my.token', 'from-file\n');
    expect(await connect(server, user).credentials.current()).toMatchObject({ authorization });
  });

  test('yields how to verify the server', () => {
    const trusted = connect(`{server: "https://h", certificate-authority-data: ${base64('CA')}, tls-server-name: other}`, '{}');
    expect([trusted.ca?.toString(), trusted.tlsServerName]).toEqual(['CA', 'other']);
    expect(connect('{server: "https://h", insecure-skip-tls-verify: true}', '{}').insecure).toBe(true);
  });

  test('may impersonate another user', () => {
    const user = '{token: abc, as: jane, as-uid: "7", as-groups: [a], as-user-extra: {team: [x]}}';
    expect(connect(server, user).impersonate).toEqual({ user: 'jane', uid: '7', groups: ['a'], extra: { team: ['x'] } });
  });
});

test.each([
  ['a proxy', '{server: "https://h", proxy-url: "http://p"}', '{}', 'has a proxy-url, which is not supported'],
  ['no address', '{server: "127.0.0.1"}', '{}', 'expected server to be an https:// or http:// address, found "127.0.0.1"'],
  ['half a certificate', server, `{client-certificate-data: ${base64('CERT')}}`, 'needs both client-certificate and client-key'],
  ['a missing file', server, '{client-certificate: nowhere.crt, client-key: nowhere.key}', 'nowhere.crt'],
  [
    'an authority without verification',
    `{server: "https://h", certificate-authority-data: ${base64('CA')}, insecure-skip-tls-verify: true}`,
    '{}',
    'keep one of them',
  ],
  ['an unknown auth-provider', server, '{auth-provider: {name: gcp}}', 'the auth-provider "gcp" is not supported'],
  ['an old exec plugin', server, '{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}', 'has apiVersion'],
])('rejects %s', (_what, cluster, user, message) => {
  expect(() => connect(cluster, user)).toThrow(message);
});

test.each([
  ['clusters: 3', 'clusters must be a list'],
  ['kind: Pod', 'expected kind Config of v1'],
  ['a: [', 'is not valid YAML'],
  ['users: [{user: {}}]', 'each entry of users needs a name'],
])('rejects a file with %j', (text, message) => {
  expect(() => parseKubeconfig(text, 'f')).toThrow(message);
});

test('prefers the first of several files, and skips missing ones', () => {
  const first = write('first', 'current-context: b\nusers: [{name: u, user: {token: first}}]');
  const second = write('second', config(server, '{token: second}').replace('name: here', 'name: b'));
  const merged = loadKubeconfig({ environment: { KUBECONFIG: `${first}:${join(folder, 'missing')}:${second}` } });
  expect(connectionOf(merged)).toMatchObject({ server: 'https://127.0.0.1:6443' });
  expect(connectionOf(merged).credentials.current()).toEqual({ authorization: 'Bearer first' });
  expect(() => connectionOf(merged, 'nowhere')).toThrow('has no context "nowhere"; it has: b');
});

test('reports all searched paths if there is no file at all', () => {
  expect(() => loadKubeconfig({ environment: { HOME: join(folder, 'nobody') } })).toThrow(join(folder, 'nobody', '.kube', 'config'));
});

describe('a pod', () => {
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: folder };

  test('uses its service account', async () => {
    write('token', 'pod-token');
    write('ca.crt', 'CA');
    write('namespace', 'pods\n');
    const connection = defaultConnection({ environment, folder });
    expect(connection).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'pods' });
    expect(await connection.credentials.current()).toEqual({ authorization: 'Bearer pod-token' });
  });

  test('prefers a named kubeconfig', () => {
    const path = write('named', config(server, '{}'));
    expect(defaultConnection({ environment: { ...environment, KUBECONFIG: path }, folder }).server).toBe('https://127.0.0.1:6443');
  });

  test('is not detected without the variables', () => {
    expect(inClusterConnection({ environment: {}, folder })).toBeUndefined();
  });
});
