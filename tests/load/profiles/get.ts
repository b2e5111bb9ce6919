import { requestText } from '../client/connection.ts';
import { configMapsPath } from '../client/objects.ts';
import { Pool } from '../client/pool.ts';
import { throughput } from './create.ts';
import { fill } from './fill.ts';
import { freshNamespace, type Profile } from './profile.ts';

const objects = 1_000;

/** Consistent gets of random objects. */
export const get: Profile = async (subject, amounts) => {
  const clients = amounts.clients ?? 64;
  const namespace = freshNamespace();
  await fill(subject, namespace, { count: objects, size: 1024 });
  const path = configMapsPath(namespace);
  const { token } = subject.address;
  const requests = Array.from({ length: objects }, (_, index) => requestText({ method: 'GET', path: `${path}/c-${index}`, token }));
  using pool = await Pool.open(subject.address, clients);
  const load = { clients, count: amounts.count ?? 20_000, seconds: amounts.seconds };
  const result = await pool.run(load, () => requests[Math.floor(Math.random() * objects)]!);
  return throughput(`gets, ${clients} clients`, result);
};
