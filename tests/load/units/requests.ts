import type { Client } from '@capstan/client';

const series = /^apiserver_request_total\{verb="([^"]*)",group="[^"]*",resource="([^"]*)",subresource="([^"]*)",code="[^"]*"\} (\d+)/gm;

/** The requests that a server has answered since it started, by verb and kind, from its metrics. */
export async function requestsServed(client: Client): Promise<Map<string, number>> {
  const { text } = await client.under('/').raw({ method: 'GET', path: '/metrics' });
  return requestsIn(text);
}

export function requestsIn(metrics: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, verb, resource, subresource, count] of metrics.matchAll(series)) {
    const kind = `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
    found.set(kind, (found.get(kind) ?? 0) + Number(count));
  }
  return found;
}

/** The most frequent first. */
export function difference(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const grown = [...after].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const);
  return new Map(grown.filter(([, count]) => count > 0).sort(([, one], [, other]) => other - one));
}
