import { makeNamespace } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { configMapBody, configMapsPath } from '../client/objects.ts';
import { type LoadResult, Pool } from '../client/pool.ts';
import { freshNamespace, type Measurement, type Profile } from './profile.ts';

/** Durable creates of ConfigMaps of 1 KiB. */
export const create: Profile = async (subject, amounts) => {
  const clients = amounts.clients ?? 64;
  const namespace = freshNamespace();
  await makeNamespace(subject.address, namespace);
  const path = configMapsPath(namespace);
  using pool = await Pool.open(subject.address, clients);
  const { token } = subject.address;
  const result = await pool.run({ clients, count: amounts.count ?? 10_000, seconds: amounts.seconds }, (index) =>
    requestText({ method: 'POST', path, body: configMapBody(`c-${index}`, 1024), token }),
  );
  return throughput(`creates, ${clients} clients`, result);
};

export function throughput(what: string, result: LoadResult): Measurement[] {
  if (result.errors > 0) process.stderr.write(`${what}: ${result.errors} errors, the first: ${result.firstError}\n`);
  return [
    { what, value: (result.requests - result.errors) / result.seconds, unit: 'per second', better: 'higher' },
    { what: `${what}: p50`, value: result.latencies.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: `${what}: p99`, value: result.latencies.quantile(0.99), unit: 'ms', better: 'lower' },
    { what: `${what}: errors`, value: result.errors, unit: 'count', better: 'lower' },
  ];
}
