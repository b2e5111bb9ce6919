import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type App, appsNamespace } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { isObject, type KubeObject } from '@capstan/machinery';
import { secretKind } from '../keeping/kept-values.ts';
import { type Adapter, AdapterProblem } from './contract.ts';
import { AdapterUnavailable, type WebAdapters } from './finding.ts';

export interface WebOptions {
  /** In milliseconds: how long an adapter may take for one answer. */
  readonly timeout?: number;
  /** In bytes: the largest answer. */
  readonly mostBytes?: number;
}

const defaultTimeout = 10_000;
const defaultBytes = 8 * 2 ** 20;

/** Adapters that are web services. Each question is a POST of JSON to `<url>/<question>`, and its answer is JSON. */
export function webAdapters(platform: Client, { timeout = defaultTimeout, mostBytes = defaultBytes }: WebOptions = {}): WebAdapters {
  return (app) => {
    const ask = async (question: string, body: unknown): Promise<unknown> => {
      const token = await tokenOf(app, platform);
      return post(app, { question, body: JSON.stringify(body), token, timeout, mostBytes });
    };
    return {
      members: (request) => ask('members', request),
      plan: (request) => ask('plan', request),
      observe: (request) => ask('observe', request),
      access: (request) => ask('access', request),
    } as Adapter;
  };
}

async function tokenOf({ metadata, spec }: App, platform: Client): Promise<string | undefined> {
  const { secretName } = spec.adapter;
  if (secretName === undefined) return undefined;
  const secret = await ignoring(
    platform.resource<KubeObject & { data?: Record<string, string> }>(secretKind).in(appsNamespace).get(secretName),
    isNotFound,
  );
  const token = secret?.data?.['token'];
  if (token === undefined)
    throw new AdapterUnavailable(
      `the App ${metadata.name} names the Secret ${secretName}, which has no key token in the namespace ${appsNamespace}`,
    );
  return Buffer.from(token, 'base64').toString('utf8').trim();
}

interface Post extends Required<WebOptions> {
  readonly question: string;
  readonly body: string;
  readonly token: string | undefined;
}

async function post({ spec }: App, { question, body, token, timeout, mostBytes }: Post): Promise<unknown> {
  const url = new URL(`${spec.adapter.url!.replace(/\/+$/, '')}/${question}`);
  const subject = `the adapter at ${url.origin}`;
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const { code, text } = await new Promise<{ code: number; text: string }>((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const ca = spec.adapter.caBundle === undefined ? {} : { ca: spec.adapter.caBundle };
    const outgoing = send(url, { method: 'POST', headers, agent: false, ...ca, signal: AbortSignal.timeout(timeout) }, (answer) => {
      const parts: Buffer[] = [];
      let size = 0;
      answer.on('data', (part: Buffer) => {
        size += part.length;
        if (size > mostBytes)
          answer.destroy(
            new AdapterProblem('BadAnswer', `${subject} answered ${question} with more than ${mostBytes} bytes`, { userFixable: false }),
          );
        else parts.push(part);
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }));
      answer.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  }).catch((error: unknown) => {
    if (error instanceof AdapterProblem) throw error;
    const isSlow = error instanceof Error && error.name === 'AbortError';
    throw new AdapterUnavailable(
      isSlow
        ? `${subject} did not answer ${question} within ${timeout / 1000} s`
        : `${subject} cannot be reached: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  return answerOf(code, text, { subject, question });
}

/** 200 with the answer, or 422 with `{"code", "message"}` if the wish cannot be fulfilled. Everything else is a failure, after which it is asked again. */
function answerOf(code: number, text: string, { subject, question }: { readonly subject: string; readonly question: string }): unknown {
  const parsed = parse(text);
  if (code === 200 && parsed !== undefined) return parsed;
  if (code === 200)
    throw new AdapterProblem('BadAnswer', `${subject} answered ${question} with something that is no JSON`, { userFixable: false });
  if (
    code === 422 &&
    isObject(parsed) &&
    typeof parsed['code'] === 'string' &&
    typeof parsed['message'] === 'string' &&
    /^[A-Z][A-Za-z0-9]{0,63}$/.test(parsed['code'])
  )
    throw new AdapterProblem(parsed['code'], parsed['message'].slice(0, 4096), { userFixable: parsed['userFixable'] !== false });
  throw new AdapterUnavailable(`${subject} answered ${question} with the status ${code}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
