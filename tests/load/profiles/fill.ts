import { makeNamespace } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { configMapBody, configMapsPath } from '../client/objects.ts';
import { Pool } from '../client/pool.ts';
import type { Subject } from './profile.ts';

/** Creates a namespace with `count` ConfigMaps of `size` bytes named `c-<index>`. */
export async function fill(subject: Subject, namespace: string, { count, size }: { count: number; size: number }): Promise<void> {
  await makeNamespace(subject.address, namespace);
  const path = configMapsPath(namespace);
  using pool = await Pool.open(subject.address, 32);
  const { token } = subject.address;
  const result = await pool.run({ clients: 32, count, seconds: 300 }, (index) =>
    requestText({ method: 'POST', path, body: configMapBody(`c-${index}`, size), token }),
  );
  if (result.errors > 0 || result.requests < count) {
    throw new Error(
      `${subject.name}: expected ${count} objects, created ${result.requests - result.errors}; first error: ${result.firstError ?? 'out of time'}`,
    );
  }
}
