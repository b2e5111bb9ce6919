import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePki, jsonWebKey, signingKey } from '@capstan/pki';

/** A small OpenID provider, at which jane is always signed in. */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly authority: string;
  /** Whether it gives tokens, refuses to, or is broken. */
  mood: 'kind' | 'refusing' | 'broken';
  /** In seconds, of the next token. */
  lifetime: number;
  /** Claims of the next token that are not as they should be. */
  odd: object;
  /** Forms that were sent to the token endpoint. */
  readonly asked: URLSearchParams[];
  /** Does what a browser and a person do: follows the address, and returns the one that leads back. */
  consent(address: string): URL;
}

export const clientId = 'capstan-console';

/** The page that asks jane, who is signed in already, whether the console may know who she is. */
function question(back: URL): string {
  const denied = new URL(back);
  denied.searchParams.delete('code');
  denied.searchParams.set('error', 'access_denied');
  const link = (to: URL, text: string): string => `<p><a href="${to.href.replaceAll('&', '&amp;')}">${text}</a></p>`;
  return `<!doctype html>${link(back, 'Allow')}${link(denied, 'Deny')}`;
}

export async function startProvider(): Promise<TestProvider> {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-provider-'));
  const pki = await ensurePki(directory);
  const key = signingKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
  const codes = new Map<string, { readonly challenge: string; readonly nonce: string; readonly redirect: string }>();
  const asked: URLSearchParams[] = [];
  let count = 0;

  const token = (nonce?: string): string => {
    const now = Math.floor(Date.now() / 1000);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: provider.issuer,
      aud: clientId,
      sub: 'jane',
      iat: now,
      exp: now + provider.lifetime,
      nonce,
      jti: String(++count),
    };
    const signed = `${part({ alg: 'RS256', kid: key.kid })}.${part({ ...claims, ...provider.odd })}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), key.privateKey).toString('base64url')}`;
  };

  const answer = (form: URLSearchParams): object => {
    if (form.get('grant_type') === 'refresh_token')
      return form.get('refresh_token') === `refresh-${count}`
        ? { id_token: token(), refresh_token: `refresh-${count}` }
        : { error: 'invalid_grant' };
    const flow = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (flow === undefined || flow.challenge !== challenge || flow.redirect !== form.get('redirect_uri')) return { error: 'invalid_grant' };
    return { id_token: token(flow.nonce), refresh_token: `refresh-${count}`, access_token: 'unused' };
  };

  const server = createServer({ cert: pki.serving.certificate, key: pki.serving.key }, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const url = provider.issuer;
      const say = (value: object): void => void response.writeHead('error' in value ? 400 : 200).end(JSON.stringify(value));
      if (request.url === '/.well-known/openid-configuration')
        return say({
          issuer: url,
          jwks_uri: `${url}/keys`,
          authorization_endpoint: `${url}/authorize?tenant=1`,
          token_endpoint: `${url}/token`,
        });
      if (request.url?.startsWith('/authorize?') === true)
        return void response.setHeader('content-type', 'text/html').end(question(provider.consent(`${url}${request.url}`)));
      if (request.url === '/keys') return say({ keys: [jsonWebKey(key)] });
      const form = new URLSearchParams(body);
      asked.push(form);
      if (provider.mood === 'broken') return void response.writeHead(500).end('oops');
      say(provider.mood === 'refusing' ? { error: 'access_denied' } : answer(form));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const provider: TestProvider = {
    issuer: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: pki.authority.certificate,
    mood: 'kind',
    lifetime: 3_600,
    odd: {},
    asked,
    consent(address) {
      const { searchParams } = new URL(address);
      const get = (name: string): string => searchParams.get(name) ?? '';
      const code = `code-${codes.size}-${Math.random()}`;
      codes.set(code, { challenge: get('code_challenge'), nonce: get('nonce'), redirect: get('redirect_uri') });
      const back = new URL(get('redirect_uri'));
      back.searchParams.set('code', code);
      back.searchParams.set('state', get('state'));
      return back;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true });
    },
  };
  return provider;
}
