import { writePatiently } from '@capstan/serving';
import { truth, wholeNumber } from '../http/parameters.ts';
import type { Call, Reply } from '../routes/call.ts';
import { placeOf } from './place.ts';
import type { RestResource } from './resource.ts';

const container = 'unit';
/** In milliseconds: a program may be silent for long, and the API server sends nothing meanwhile. */
const longestSilence = 24 * 3_600_000;

/** `GET /<path>/{id}/logs`: the output of a unit as text, of its Pod. */
export async function sendLogs(resource: RestResource, call: Call): Promise<Reply> {
  const { upstream, authorization, response, streams, query } = call;
  const { workspace, namespace } = await placeOf(resource, call);
  const name = call.parameters['id']!;
  const options = new URLSearchParams({ container });
  for (const flag of ['follow', 'timestamps', 'previous']) if (truth(query, flag)) options.set(flag, 'true');
  for (const [from, to, most] of [
    ['tail', 'tailLines', 1_000_000],
    ['since_seconds', 'sinceSeconds', 1_000_000_000],
    ['limit_bytes', 'limitBytes', 1_000_000_000],
  ] as const) {
    const value = wholeNumber(query, from, { to: most });
    if (value !== undefined) options.set(to, String(value));
  }
  using stream = streams.begin(authorization, response);
  const path = `/clusters/${workspace}/api/v1/namespaces/${namespace}/pods/${name}/log?${options.toString()}`;
  const answer = await upstream.open({ method: 'GET', path, authorization, signal: stream.signal });
  try {
    stream.accept();
    response.writeHead(200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();
    await answer.read(longestSilence, (text) =>
      response.destroyed ? answer.destroy() : writePatiently(response, text, streams.limits.patience),
    );
    response.end();
  } catch (error) {
    // A response that has begun can only be cut short, so that readers notice.
    if (!response.headersSent) throw error;
    response.destroy();
  } finally {
    answer.destroy();
  }
  return 'sent';
}
