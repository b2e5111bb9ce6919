import { setTimeout as sleep } from 'node:timers/promises';
import { makeNamespace, mustAsk } from '../client/ask.ts';
import { type Connection, requestText } from '../client/connection.ts';
import { configMapBody, configMapsPath } from '../client/objects.ts';
import { Pool } from '../client/pool.ts';
import { Latencies } from '../measure/latencies.ts';
import { freshNamespace, type Profile } from './profile.ts';
import { eventsOfAnObject, objectName, sentNow, Watcher } from './watcher.ts';

const watchers = 25;

/**
 * Many clients create objects, patch them twice and delete them while watchers follow. Every event must reach every watcher once and in
 * order.
 */
export const churn: Profile = async (subject, amounts) => {
  const clients = amounts.clients ?? 50;
  const objects = amounts.count ?? 2_000;
  const { address } = subject;
  const namespace = freshNamespace();
  await makeNamespace(address, namespace);
  const path = configMapsPath(namespace);
  const list = await mustAsk(address, { method: 'GET', path });
  const version = /"resourceVersion":"(\d+)"/.exec(list.text)?.[1] ?? '0';
  const lag = new Latencies(objects * 3 * watchers);
  using stack = new DisposableStack();
  const options = { path: `${path}?watch=true&resourceVersion=${version}`, objects, lag };
  const open = Array.from({ length: watchers }, () => Watcher.open(address, options));
  const watching = (await Promise.all(open)).map((watcher) => stack.use(watcher));
  const pool = stack.use(await Pool.open(address, clients));

  const began = performance.now();
  const errors = await writeAll(pool, { path, objects, seconds: amounts.seconds });
  const wrote = performance.now();
  await Promise.race([Promise.all(watching.map((watcher) => watcher.done)), sleep(30_000, undefined, { ref: false })]);
  const seconds = (performance.now() - began) / 1000;
  const delivered = watching.reduce((sum, watcher) => sum + watcher.seen, 0);
  const what = `churn, ${watchers} watchers, ${clients} clients`;
  return [
    { what: `${what}: events`, value: delivered / seconds, unit: 'per second', better: 'higher' },
    {
      what: `${what}: writes`,
      value: (objects * eventsOfAnObject - errors) / ((wrote - began) / 1000),
      unit: 'per second',
      better: 'higher',
    },
    { what: `${what}: lag p50`, value: lag.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: `${what}: lag p99`, value: lag.quantile(0.99), unit: 'ms', better: 'lower' },
    { what: `${what}: events missing`, value: objects * eventsOfAnObject * watchers - delivered, unit: 'count', better: 'lower' },
    { what: `${what}: errors`, value: errors, unit: 'count', better: 'lower' },
  ];
};

/** Each client takes one object through its life, then the next. Resolves with the number of failed requests. */
function writeAll(pool: Pool, { path, objects, seconds }: { path: string; objects: number; seconds: number }): Promise<number> {
  const { token } = pool.address;
  const end = performance.now() + seconds * 1000;
  return new Promise((resolve) => {
    let next = 0;
    let errors = 0;
    let active = pool.connections.length;
    const step = (connection: Connection, object: number, number: number): void => {
      connection.send(stepRequest({ path, object, number, token }), (status) => {
        if (status >= 400) errors++;
        if (number + 1 < eventsOfAnObject) step(connection, object, number + 1);
        else begin(connection);
      });
    };
    const begin = (connection: Connection): void => {
      if (next < objects && performance.now() < end) step(connection, next++, 0);
      else if (--active === 0) resolve(errors);
    };
    for (const connection of pool.connections) begin(connection);
  });
}

function stepRequest({ path, object, number, token }: { path: string; object: number; number: number; token: string | undefined }): string {
  const name = objectName(object);
  const at = sentNow();
  if (number === 0) return requestText({ method: 'POST', path, body: configMapBody(name, 512, `${at},`), token });
  if (number === 3) return requestText({ method: 'DELETE', path: `${path}/${name}`, token });
  const contentType = 'application/merge-patch+json';
  return requestText({ method: 'PATCH', path: `${path}/${name}`, body: `{"data":{${at},"step":"${number}"}}`, contentType, token });
}
