import { Agent, get } from 'node:https';
import { readBounded } from '../http/bounded.ts';
import type { Outbound } from '../http/outbound.ts';
import { trusting } from '../http/trust.ts';

const limitBytes = 1024 * 1024;
const timeoutMilliseconds = 10_000;

export interface FetchOptions {
  /** PEM of the trusted authorities; defaults to those of the system. */
  readonly authorities?: string | undefined;
  /** Blocks connections to some addresses. */
  readonly outbound?: Outbound | undefined;
}

/** A `fetch` for GET that trusts custom authorities, which the global one does not support. Responses are limited in size and time. */
export function httpsFetch({ authorities, outbound }: FetchOptions): (url: string) => Promise<Response> {
  const agent = new Agent({ keepAlive: false, ...(authorities !== undefined && trusting(authorities)) });
  return (url) =>
    new Promise((resolve, reject) => {
      outbound?.check(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
      const lookup = outbound && { lookup: outbound.lookup };
      const request = get(
        url,
        { agent, headers: { accept: 'application/json' }, signal: AbortSignal.timeout(timeoutMilliseconds), ...lookup },
        (response) => {
          readBounded(response, limitBytes, `the answer of ${url}`).then(
            (body) => resolve(new Response(body, { status: response.statusCode ?? 500 })),
            reject,
          );
        },
      );
      request.on('error', reject);
    });
}

export async function fetchJson(url: string, options: FetchOptions): Promise<Record<string, unknown>> {
  const response = await httpsFetch(options)(url);
  if (response.status !== 200) throw new TypeError(`${url} answered with status ${response.status}, expected 200`);
  return (await response.json()) as Record<string, unknown>;
}
