import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { parseYaml } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { deleteContext, listContexts, useContext } from './context.ts';
import { signIn } from './device-flow.ts';
import { login, logout, whoAmI } from './login.ts';

let server: TestServer;
let directory: string;
let kubeconfig: string;
let token: string;
let output: string[];
const robot = 'system:serviceaccount:default:robot';

beforeAll(async () => {
  server = await startTestServer({ tokens: 'ada-token,ada,1\nowner-token,olga,2,system:kcp:admin\n' });
  directory = mkdtempSync(join(tmpdir(), 'capstan-session-'));
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await server.call(accounts, { method: 'POST', body: { metadata: { name: 'robot' } } });
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const reply = await server.call(`${accounts}/robot/token`, { method: 'POST', body });
  token = (reply.json() as unknown as { status: { token: string } }).status.token;
  writeFileSync(join(directory, 'ca.crt'), readFileSync(join(server.directory, 'pki/ca.crt')));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  kubeconfig = join(directory, 'new', 'config');
  rmSync(join(directory, 'new'), { recursive: true, force: true });
  output = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => output.push(String(line).trim()) > 0);
  return () => void vi.restoreAllMocks();
});

const trusting = (): { kubeconfig: string; certificateAuthority: string } => ({
  kubeconfig,
  certificateAuthority: join(directory, 'ca.crt'),
});

test('login writes a private kubeconfig that works, and logout removes the token', async () => {
  await login(server.url, { ...trusting(), token, name: 'here', workspace: 'root:main' });
  expect(output).toEqual([`You are ${robot} at ${server.url}. The context here in ${kubeconfig} is the current one.`]);
  expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
  output = [];
  await whoAmI({ kubeconfig });
  listContexts({ kubeconfig });
  expect(output).toEqual([
    robot,
    expect.stringMatching(/NAME +SERVER +WORKSPACE +USER$/),
    expect.stringMatching(/^\* +here +https:\/\/\S+ +root:main +here$/),
  ]);
  logout({ kubeconfig });
  expect(readFileSync(kubeconfig, 'utf8')).not.toContain(token);
  expect(() => logout({ kubeconfig })).toThrow('has no token to forget');
});

test('a second login keeps the first context, and contexts can be changed and deleted', async () => {
  await login(server.url, { ...trusting(), token, name: 'one' });
  await login(server.url, { ...trusting(), token, name: 'two' });
  useContext('one', { kubeconfig });
  output = [];
  listContexts({ kubeconfig, output: 'name' });
  expect(output).toEqual(['one\ntwo']);
  deleteContext('one', { kubeconfig });
  expect(output.at(-1)).toBe('The context one was deleted. Choose another with "capstan context use".');
  expect(parseYaml(readFileSync(kubeconfig, 'utf8'))).toMatchObject({
    clusters: [{ name: 'two' }],
    users: [{ name: 'two' }],
    contexts: [{ name: 'two' }],
  });
  expect(() => useContext('one', { kubeconfig })).toThrow('has no context one; "capstan context list" lists all.');
});

test('people begin at home, and owners of the platform in root', async () => {
  await login(server.url, { ...trusting(), token: 'ada-token', name: 'ada' });
  expect(output.at(-1)).toBe('It begins in user:ada, the workspace of your own. "capstan ws use" leads to others.');
  await login(server.url, { ...trusting(), token: 'owner-token', name: 'olga' });
  output = [];
  listContexts({ kubeconfig });
  expect(output).toEqual([
    expect.stringMatching(/NAME +SERVER +WORKSPACE +USER$/),
    expect.stringMatching(/^ada +\S+ +user:ada +ada$/),
    expect.stringMatching(/^\* +olga +\S+ +root +olga$/),
  ]);
});

test('deleting a context keeps what others use', () => {
  writeFileSync(join(directory, 'shared'), readFileSync(server.kubeconfigPath));
  deleteContext('root', { kubeconfig: join(directory, 'shared') });
  const left = parseYaml(readFileSync(join(directory, 'shared'), 'utf8')) as { users: { name: string }[]; clusters: { name: string }[] };
  expect(left.users.map(({ name }) => name)).toContain('kcp-admin');
  expect(left.clusters.map(({ name }) => name)).not.toContain('root');
});

test('nothing is written if the server does not accept the credentials or cannot be trusted', async () => {
  await expect(login(server.url, { ...trusting(), token: 'wrong' })).rejects.toThrow('does not accept this token');
  await expect(login(server.url, { kubeconfig, token })).rejects.toThrow('--certificate-authority');
  await expect(login(server.url, trusting())).rejects.toThrow('expected a token');
  await expect(login('capstan.example.com', { kubeconfig, token })).rejects.toThrow('expected the address of a server such as');
  await expect(login(server.url, { kubeconfig, issuer: 'https://x' })).rejects.toThrow('--issuer needs --client-id');
  expect(existsSync(kubeconfig)).toBe(false);
});

test('signs in on another device, and waits as long as the issuer says', async () => {
  const asked: string[] = [];
  const answers: object[] = [{ error: 'authorization_pending' }, { error: 'slow_down' }, { id_token: 'the-token', refresh_token: 'more' }];
  const issuer = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      asked.push(`${request.url} ${body}`);
      const url = `http://${request.headers.host}`;
      if (request.url === '/.well-known/openid-configuration')
        response.end(JSON.stringify({ device_authorization_endpoint: `${url}/device`, token_endpoint: `${url}/token` }));
      else if (request.url === '/device')
        response.end(
          JSON.stringify({ device_code: 'secret', user_code: 'ABCD', verification_uri: `${url}/activate`, interval: 1, expires_in: 900 }),
        );
      else {
        const answer = answers.shift() ?? { error: 'access_denied', error_description: 'you said no' };
        response.writeHead('error' in answer ? 400 : 200).end(JSON.stringify(answer));
      }
    });
  });
  await new Promise<void>((resolve) => void issuer.listen(0, '127.0.0.1', resolve));
  try {
    const told: string[] = [];
    const options = {
      issuer: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`,
      clientId: 'capstan',
      onCode: (where: string, code: string) => void told.push(where, code),
      second: 1,
    };
    expect(await signIn(options)).toEqual({ idToken: 'the-token', refreshToken: 'more' });
    expect(told).toEqual([`${options.issuer}/activate`, 'ABCD']);
    expect(asked[2]).toBe('/token client_id=capstan&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=secret');
    await expect(signIn(options)).rejects.toThrow('refused: you said no.');
  } finally {
    issuer.closeAllConnections();
    issuer.close();
  }
});
