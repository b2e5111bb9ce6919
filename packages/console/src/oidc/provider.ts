import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { fieldsOf, isObject, textOf } from '@capstan/machinery';
import { claimsOf } from '@capstan/serving';
import type { Credential } from '../sessions/session.ts';

/** An OpenID provider that the API server trusts, and this console as its client. */
export interface ProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** None for a public client, which PKCE protects alone. */
  readonly clientSecret?: string;
  readonly scopes?: readonly string[];
  /** PEM of the authority of its certificate; by default those of the system. */
  readonly authority?: string;
}

/** Why the provider gives no token. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** It says so itself: asking again would not help. */
  readonly isRefusal: boolean;

  constructor(message: string, { isRefusal = false, cause }: { readonly isRefusal?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause });
    this.isRefusal = isRefusal;
  }
}

interface Endpoints {
  readonly authorization: string;
  readonly token: string;
}

const patience = 10_000;
const largestAnswer = 1 << 20;
const defaultScopes = ['openid', 'profile', 'email', 'offline_access'];

/** Sends people to the provider, and gets tokens from it. */
export class Provider {
  readonly #options: ProviderOptions;
  #endpoints: Promise<Endpoints> | undefined;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /** Where a person signs in. */
  async address(flow: {
    readonly redirect: string;
    readonly state: string;
    readonly nonce: string;
    readonly challenge: string;
  }): Promise<string> {
    const url = new URL((await this.#reach()).authorization);
    const { clientId, scopes = defaultScopes } = this.#options;
    const parameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: flow.redirect,
      scope: [...new Set(['openid', ...scopes])].join(' '),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: flow.challenge,
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** The tokens behind a code, if they are for this flow. The API server checks the signature when they are used. */
  async redeem(flow: {
    readonly code: string;
    readonly redirect: string;
    readonly verifier: string;
    readonly nonce: string;
  }): Promise<Credential> {
    const answer = await this.#ask({
      grant_type: 'authorization_code',
      code: flow.code,
      redirect_uri: flow.redirect,
      code_verifier: flow.verifier,
    });
    const credential = credentialOf(answer);
    const { iss, aud, nonce } = claimsOf(`Bearer ${credential.token}`) ?? {};
    if (iss !== this.#options.issuer || ![aud].flat().includes(this.#options.clientId) || nonce !== flow.nonce)
      throw new ProviderError('the provider answered with an ID token for somebody or something else', { isRefusal: true });
    return credential;
  }

  /** The next token. */
  async renew({ refreshToken = '' }: Credential): Promise<Credential> {
    return { refreshToken, ...credentialOf(await this.#ask({ grant_type: 'refresh_token', refresh_token: refreshToken })) };
  }

  #reach(): Promise<Endpoints> {
    // After a failure, the next person tries again.
    this.#endpoints ??= this.#discover().catch((error: unknown) => {
      this.#endpoints = undefined;
      throw error;
    });
    return this.#endpoints;
  }

  async #discover(): Promise<Endpoints> {
    const { issuer } = this.#options;
    const document = await this.#fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const [authorization, token] = [textOf(document['authorization_endpoint']), textOf(document['token_endpoint'])];
    if (document['issuer'] !== issuer || !URL.canParse(authorization) || !URL.canParse(token))
      throw new ProviderError(`the discovery document of ${issuer} names another issuer, or lacks an endpoint`);
    return { authorization, token };
  }

  async #ask(form: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
    const { clientId, clientSecret } = this.#options;
    const body = new URLSearchParams({ ...form, client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) });
    return this.#fetch((await this.#reach()).token, body.toString());
  }

  async #fetch(url: string, body?: string): Promise<Readonly<Record<string, unknown>>> {
    const { authority } = this.#options;
    const { code, text } = await exchange(url, { ...(body !== undefined && { body }), ...(authority !== undefined && { ca: authority }) });
    const answer = parsed(text);
    if (code === 200 && answer !== undefined) return answer;
    // Of the provider's own words only the code: the rest may contain anything.
    const error = textOf(fieldsOf(answer)['error'])
      .replaceAll(/[^\w.-]/g, '')
      .slice(0, 100);
    throw new ProviderError(`${new URL(url).origin} answered ${code}${error === '' ? '' : `: ${error}`}`, {
      isRefusal: code === 400 || code === 401,
    });
  }
}

function credentialOf(answer: Readonly<Record<string, unknown>>): Credential {
  const [token, refreshToken] = [textOf(answer['id_token']), textOf(answer['refresh_token'])];
  if (token === '') throw new ProviderError('the provider answered without an ID token');
  return { token, ...(refreshToken !== '' && { refreshToken }) };
}

function exchange(url: string, { body, ca }: { readonly body?: string; readonly ca?: string }): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(new ProviderError(`${new URL(url).origin} cannot be reached: ${error.message}`, { cause: error }));
    const options = {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) },
      signal: AbortSignal.timeout(patience),
    };
    const outgoing = url.startsWith('https:')
      ? httpsRequest(url, { ...options, ...(ca !== undefined && { ca }) })
      : httpRequest(url, options);
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length > largestAnswer) response.destroy(new Error('its answer is too large'));
      });
      response.on('end', () => resolve({ code: response.statusCode ?? 0, text }));
      response.on('error', fail);
    });
    outgoing.end(body);
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
