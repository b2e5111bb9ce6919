import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isObject } from '@capstan/machinery';
import type { Credential, Credentials } from './credentials.ts';

/** An id token this close to its expiry is refreshed. */
const margin = 10_000;

/** The `auth-provider` block with name `oidc`. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
  /** PEM of the authority that signed the issuer's certificate. */
  readonly ca?: Buffer;
}

export interface OidcOptions {
  readonly config: OidcConfig;
  /** Called with new tokens, for callers that store them. */
  readonly onRefresh?: (tokens: { readonly idToken: string; readonly refreshToken?: string }) => void;
  readonly now?: () => number;
  readonly timeout?: number;
}

/** Authenticates requests with an id token, and asks the issuer for a new one when it is about to expire. */
export function oidcCredentials({ config, onRefresh, now = Date.now, timeout = 30_000 }: OidcOptions): Credentials {
  let refreshToken = config.refreshToken;
  let held = config.idToken === undefined ? undefined : heldToken(config.idToken);
  let running: Promise<Credential> | undefined;
  const refresh = async (): Promise<Credential> => {
    try {
      if (refreshToken === undefined) {
        throw new Error(`the id token from ${config.issuer} has expired and the kubeconfig has no refresh-token; log in again`);
      }
      const endpoint = await tokenEndpoint(config, timeout);
      const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: config.clientId });
      if (config.clientSecret !== undefined) form.set('client_secret', config.clientSecret);
      const answer = await exchange(endpoint, { ca: config.ca, timeout, body: form.toString() });
      const idToken = answer.id_token;
      if (typeof idToken !== 'string') throw new Error(`${endpoint} answered without an id_token; check the scopes of the refresh token`);
      if (typeof answer.refresh_token === 'string') refreshToken = answer.refresh_token;
      held = heldToken(idToken);
      onRefresh?.({ idToken, refreshToken });
      return held.credential;
    } finally {
      running = undefined;
    }
  };
  return {
    current() {
      if (held !== undefined && now() < held.expires - margin) return held.credential;
      running ??= refresh();
      return running;
    },
    refused(credential) {
      if (held?.credential === credential) held = undefined;
    },
  };
}

function heldToken(idToken: string): { readonly credential: Credential; readonly expires: number } {
  return { credential: { authorization: `Bearer ${idToken}` }, expires: expiryOf(idToken) };
}

/** In milliseconds; a token without a readable expiry counts as expired. */
function expiryOf(token: string): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return isObject(claims) && typeof claims.exp === 'number' ? claims.exp * 1000 : 0;
  } catch {
    return 0;
  }
}

async function tokenEndpoint(config: OidcConfig, timeout: number): Promise<string> {
  const url = `${config.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { token_endpoint: endpoint } = await exchange(url, { ca: config.ca, timeout });
  if (typeof endpoint !== 'string') throw new Error(`${url} contains no token_endpoint`);
  return endpoint;
}

async function exchange(
  url: string,
  { ca, timeout, body }: { readonly ca: Buffer | undefined; readonly timeout: number; readonly body?: string },
): Promise<Record<string, unknown>> {
  const { code, text } = await new Promise<{ code: number; text: string }>((resolve, reject) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const outgoing = send(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) },
      timeout,
      ...(ca !== undefined && { ca }),
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${url} did not answer within ${timeout} ms`)));
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.on('end', () => resolve({ code: incoming.statusCode ?? 0, text }));
      incoming.on('error', reject);
    });
    outgoing.end(body);
  });
  if (code !== 200) throw new Error(`${url} answered ${code}: ${text.slice(0, 500)}`);
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw new Error(`${url} did not answer with a JSON object`);
  return parsed;
}
