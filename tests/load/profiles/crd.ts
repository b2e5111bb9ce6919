import { mustAsk } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { Pool } from '../client/pool.ts';
import { definitionBody, sectionsOfLargeSchema } from '../custom/definition.ts';
import { definitionsPath, removeDefinition, resourcesPath, waitUntilServed } from '../custom/install.ts';
import { resourceBodies, resourcePatch } from '../custom/resource.ts';
import { throughput } from './create.ts';
import type { Profile } from './profile.ts';

const warmUp = { count: 500, seconds: 5 };
/** Enough to measure rates; a slow server must not delay the rest of a comparison. */
const mostSeconds = 20;

/** Creates and merge patches of custom resources of 4 KB, with a schema of 200 fields and five CEL rules. */
export const crd: Profile = async (subject, amounts) => {
  const { address } = subject;
  const { token } = address;
  const clients = amounts.clients ?? 64;
  const count = amounts.count ?? 3_000;
  const group = `load-${Date.now().toString(36)}-${process.pid}.example.com`;
  const plural = 'gadgets';
  await mustAsk(address, {
    method: 'POST',
    path: definitionsPath,
    body: definitionBody({ group, plural, sections: sectionsOfLargeSchema }),
  });
  try {
    const path = resourcesPath(group, plural);
    await waitUntilServed(address, path);
    const body = resourceBodies({ apiVersion: `${group}/v1`, kind: 'Gadgets', sections: sectionsOfLargeSchema });
    const create = (name: string): string => requestText({ method: 'POST', path, body: body(name), token });
    const contentType = 'application/merge-patch+json';
    const patch = (name: string, step: number): string =>
      requestText({ method: 'PATCH', path: `${path}/${name}`, body: resourcePatch(step), contentType, token });
    using pool = await Pool.open(address, clients);
    const load = { clients, count, seconds: Math.min(amounts.seconds, mostSeconds) };
    const warmed = await pool.run({ ...load, ...warmUp }, (index) => create(`w-${index}`));
    await pool.run({ ...load, ...warmUp }, (index) => patch(`w-${index % warmed.requests}`, index));
    const created = await pool.run(load, (index) => create(`g-${index}`));
    const patched = await pool.run(load, (index) => patch(`g-${index % created.requests}`, index));
    return [
      ...throughput(`creates of custom resources, ${clients} clients`, created),
      ...throughput(`patches of custom resources, ${clients} clients`, patched),
    ];
  } finally {
    await removeDefinition(address, `${plural}.${group}`);
  }
};
