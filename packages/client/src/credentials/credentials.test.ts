import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { scriptedServer } from '../testing/scripted-server.ts';
import { execCredentials } from './exec.ts';
import { oidcCredentials } from './oidc.ts';
import { tokenFileCredentials } from './token-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'capstan-credentials-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a token file', () => {
  test('is read again after a minute, and immediately after the server rejects the token', async () => {
    const path = join(folder, 'token');
    let now = 0;
    writeFileSync(path, 'one');
    const credentials = tokenFileCredentials({ path, now: () => now });
    const first = await credentials.current();
    expect(first).toEqual({ authorization: 'Bearer one' });
    writeFileSync(path, 'two');
    expect(await credentials.current()).toEqual({ authorization: 'Bearer one' });
    now = 60_000;
    expect(await credentials.current()).toEqual({ authorization: 'Bearer two' });
    writeFileSync(path, 'three');
    credentials.refused?.(first);
    expect(await credentials.current()).toEqual({ authorization: 'Bearer two' });
    credentials.refused?.(await credentials.current());
    expect(await credentials.current()).toEqual({ authorization: 'Bearer three' });
  });

  test('that vanishes for a moment does not lose the current token', async () => {
    const path = join(folder, 'vanishing');
    let now = 0;
    writeFileSync(path, 'one');
    const credentials = tokenFileCredentials({ path, now: () => now });
    await credentials.current();
    rmSync(path);
    now = 100_000;
    expect(await credentials.current()).toEqual({ authorization: 'Bearer one' });
  });

  test('that never existed is an error', () => {
    expect(() => tokenFileCredentials({ path: join(folder, 'never') }).current()).toThrow('cannot read the token file');
  });
});

describe('an exec plugin', () => {
  const apiVersion = 'client.authentication.k8s.io/v1';
  /** Prints `output`, with $RUN replaced by the number of runs so far. */
  const plugin = (name: string, output: string): { command: string; runs: () => number } => {
    const command = join(folder, name);
    const log = `${command}.log`;
    writeFileSync(log, '');
    writeFileSync(command, `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> ${log}\nRUN=$(wc -l < ${log} | tr -d ' ')\n${output}\n`);
    chmodSync(command, 0o755);
    return { command, runs: () => readFileSync(log, 'utf8').split('\n').length - 1 };
  };
  const cluster = { server: 'https://h:1', caData: 'Q0E=' };
  const credential = (status: string): string =>
    `echo '{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":${status}}' | sed "s/RUN/$RUN/"`;

  test('runs once for all waiting callers, and again when its token has expired or was rejected', async () => {
    const { command, runs } = plugin('expiring', credential('{"token":"t-RUN","expirationTimestamp":"2030-01-01T00:00:00Z"}'));
    let now = Date.parse('2029-12-31T00:00:00Z');
    const credentials = execCredentials({ config: { command, apiVersion }, cluster, now: () => now });
    const both = await Promise.all([credentials.current(), credentials.current()]);
    expect(both).toEqual([{ authorization: 'Bearer t-1' }, { authorization: 'Bearer t-1' }]);
    expect(await credentials.current()).toBe(both[0]);
    credentials.refused?.(both[0]!);
    expect(await credentials.current()).toEqual({ authorization: 'Bearer t-2' });
    now = Date.parse('2030-01-01T00:00:01Z');
    expect(await credentials.current()).toEqual({ authorization: 'Bearer t-3' });
    expect(runs()).toBe(3);
  });

  test('receives the cluster if it asks for it, and its own variables', async () => {
    const { command } = plugin(
      'telling',
      `printf '{"apiVersion":"%s","kind":"ExecCredential","status":{"token":"%s"}}' ${apiVersion} "$MINE-$(echo "$KUBERNETES_EXEC_INFO" | grep -c 'https://h:1')"`,
    );
    const credentials = execCredentials({
      config: { command, apiVersion, provideClusterInfo: true, env: [{ name: 'MINE', value: 'yes' }] },
      cluster,
    });
    expect(await credentials.current()).toEqual({ authorization: 'Bearer yes-1' });
  });

  test('may return a certificate', async () => {
    const { command } = plugin('certificate', credential('{"clientCertificateData":"CERT","clientKeyData":"KEY"}'));
    const credentials = execCredentials({ config: { command, apiVersion }, cluster });
    expect(await credentials.current()).toEqual({ certificate: { cert: 'CERT', key: 'KEY' } });
  });

  test.each([
    ['fails', 'echo oops >&2; exit 3', 'ended with 3: oops'],
    ['prints nonsense', 'echo hello', 'printed invalid JSON'],
    ['gives nothing', credential('{}'), 'gave neither'],
    ['hangs', 'exec sleep 100', 'ended with SIGKILL'],
  ])('that %s is an error, and is tried again', async (name, output, message) => {
    const { command, runs } = plugin(name.replace(' ', '-'), output);
    const credentials = execCredentials({ config: { command, apiVersion }, cluster, timeout: name === 'hangs' ? 500 : 30_000 });
    await expect(credentials.current()).rejects.toThrow(message);
    await expect(credentials.current()).rejects.toThrow(message);
    expect(runs()).toBe(2);
  });

  test('that is not installed is an error with the install hint', async () => {
    const config = { command: join(folder, 'absent'), apiVersion, installHint: 'install it from example.com' };
    await expect(execCredentials({ config, cluster }).current()).rejects.toThrow('install it from example.com');
  });
});

describe('an OpenID issuer', () => {
  const tokenUntil = (seconds: number): string => `h.${Buffer.from(JSON.stringify({ exp: seconds })).toString('base64url')}.s`;

  test('is asked for a new token shortly before the old one expires', async () => {
    await using server = await scriptedServer((request, response) => {
      const base = `http://${request.headers.host}`;
      const answer = request.url === '/token' ? { id_token: tokenUntil(2000), refresh_token: 'r2' } : { token_endpoint: `${base}/token` };
      response.end(JSON.stringify(answer));
    });
    let now = 500_000;
    const refreshed: unknown[] = [];
    const credentials = oidcCredentials({
      config: { issuer: server.connection.server, clientId: 'me', idToken: tokenUntil(1000), refreshToken: 'r1' },
      onRefresh: (tokens) => void refreshed.push(tokens),
      now: () => now,
    });
    expect(await credentials.current()).toEqual({ authorization: `Bearer ${tokenUntil(1000)}` });
    now = 995_000;
    expect(await credentials.current()).toEqual({ authorization: `Bearer ${tokenUntil(2000)}` });
    expect(refreshed).toEqual([{ idToken: tokenUntil(2000), refreshToken: 'r2' }]);
    expect(server.requests).toEqual(['GET /.well-known/openid-configuration', 'POST /token']);
  });

  test('cannot be asked without a refresh token', async () => {
    const credentials = oidcCredentials({ config: { issuer: 'https://issuer', clientId: 'me', idToken: tokenUntil(1) } });
    await expect(credentials.current()).rejects.toThrow('log in again');
  });
});
