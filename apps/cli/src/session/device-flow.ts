import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';

export interface DeviceFlowOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** Tells the user where to go, and which code to enter there. */
  readonly onCode: (where: string, code: string) => void;
  /** Scales the waits between two questions; for tests. */
  readonly second?: number;
}

export interface OidcTokens {
  readonly idToken: string;
  readonly refreshToken?: string;
}

/** Signs in at an OpenID Connect issuer on another device, such as a phone (RFC 8628). */
export async function signIn({ issuer, clientId, clientSecret, onCode, second = 1_000 }: DeviceFlowOptions): Promise<OidcTokens> {
  const discovery = await ask(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { device_authorization_endpoint: codes, token_endpoint: tokens } = discovery.answer;
  if (typeof codes !== 'string' || typeof tokens !== 'string')
    throw new Failure(
      'usage',
      `${issuer} does not support signing in on another device. Get a token there, and use "capstan login --token".`,
    );
  const client = { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  const begun = await ask(codes, { ...client, scope: 'openid email profile groups offline_access' });
  const {
    device_code: device,
    user_code: code,
    verification_uri: where,
    verification_uri_complete: whole,
    interval,
    expires_in: expires,
  } = begun.answer;
  if (typeof device !== 'string' || typeof code !== 'string' || typeof where !== 'string') throw refusal(issuer, begun);
  onCode(typeof whole === 'string' ? whole : where, code);
  let wait = typeof interval === 'number' ? interval : 5;
  const end = Date.now() + (typeof expires === 'number' ? expires : 600) * second;
  for (;;) {
    await sleep(wait * second);
    const asked = await ask(tokens, { ...client, grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: device });
    const { id_token: idToken, refresh_token: refreshToken, error } = asked.answer;
    if (typeof idToken === 'string') return { idToken, ...(typeof refreshToken === 'string' && { refreshToken }) };
    if (error === 'slow_down') wait += 5;
    else if (error !== 'authorization_pending') throw refusal(issuer, asked);
    if (Date.now() > end) throw new Failure('unexpected', 'the code has expired. Run "capstan login" again.');
  }
}

interface Asked {
  readonly code: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

async function ask(url: string, form?: Readonly<Record<string, string>>): Promise<Asked> {
  let response: Response;
  try {
    response = await fetch(url, {
      signal: AbortSignal.timeout(30_000),
      headers: { accept: 'application/json' },
      ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
    });
  } catch (error) {
    const { cause, message } = error as Error;
    throw new Failure('unexpected', `${url} cannot be reached: ${cause instanceof Error ? cause.message : message}.`, error);
  }
  const answer: unknown = await response.json().catch(() => undefined);
  if (!isObject(answer) || (form === undefined && !response.ok))
    throw new Failure('unexpected', `${url} answered ${response.status} without what was expected.`);
  return { code: response.status, answer };
}

function refusal(issuer: string, { code, answer }: Asked): Failure {
  const { error, error_description: description } = answer;
  const why = [description, error].find((one) => typeof one === 'string') ?? `it answered ${code}`;
  return new Failure('unexpected', `${issuer} refused: ${why}.`);
}
