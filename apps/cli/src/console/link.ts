import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type SessionToken, sessionTokenPath } from '@capstan/api';
import { Client, type Connection } from '@capstan/client';
import { fieldsOf, textOf } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { userAgent } from '../workspaces/connection.ts';

const patience = 15_000;

/** A link with which a browser signs in as the user of the connection, once and within ten minutes. */
export async function signInLink(address: string, connection: Connection): Promise<string> {
  if (connection.impersonate !== undefined)
    throw new Failure('usage', 'this context impersonates somebody else, which the console cannot. Use another one with --context.');
  const token = await tokenOf(connection);
  const { code, text } = await post(`${address}/session/links`, { token, ca: connection.ca, insecure: connection.insecure });
  const answer = fieldsOf(parsed(text));
  if (code !== 201)
    throw new Failure('unexpected', `the console at ${address} answered ${code}: ${textOf(answer['message']) || text.slice(0, 200)}`);
  // In the fragment, which browsers send to nobody.
  return `${address}/sign-in#${textOf(answer['code'])}`;
}

/** A browser cannot show a certificate: the API server gives a token for the same user instead. */
async function tokenOf(connection: Connection): Promise<string> {
  const { authorization, certificate } = await connection.credentials.current();
  const bearer = /^bearer (.+)$/i.exec(authorization ?? '')?.[1];
  if (bearer !== undefined) return bearer;
  if (certificate === undefined)
    throw new Failure('usage', 'this context has neither a token nor a client certificate. Sign in with "capstan login" first.');
  using client = new Client(connection, { userAgent, retry: { attempts: 1 } });
  const { token } = await client.cluster('root').json<SessionToken>({
    method: 'POST',
    path: sessionTokenPath,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{}',
  });
  return token;
}

interface Posting {
  readonly token: string;
  readonly ca: Connection['ca'];
  readonly insecure: boolean | undefined;
}

function post(url: string, { token, ca, insecure }: Posting): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'user-agent': userAgent, 'content-length': '0' };
    const options = { method: 'POST', headers, timeout: patience, agent: false as const };
    const outgoing = url.startsWith('https:')
      ? httpsRequest(url, { ...options, rejectUnauthorized: insecure !== true, ...(ca !== undefined && { ca }) })
      : httpRequest(url, options);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${patience} ms`)));
    outgoing.on('error', (error) =>
      reject(new Failure('unexpected', `the console at ${new URL(url).origin} cannot be reached: ${error.message}.`, error)),
    );
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text = (text + part).slice(0, 10_000)));
      response.on('end', () => resolve({ code: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    outgoing.end();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
