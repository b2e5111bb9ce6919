import { readFileSync } from 'node:fs';
import { gpuStorageKind, gpuUnitKind } from '@capstan/api';
import { fleet as wholeFleet } from '@capstan/fleet';
import { type JsonObject, type KubeObject, parseYaml } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compute } from './product.ts';

const examples = ['units', 'storage'].flatMap((name) => {
  const page = readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8');
  return [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text!);
});

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({
    products: [
      { ...wholeFleet, controllers: [] },
      { ...compute, controllers: [] },
    ],
    tenants: 1,
  });
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

test.each(examples)('the server accepts the example\n%s', async (text) => {
  const object = parseYaml(text) as unknown as KubeObject & { readonly spec: JsonObject };
  const kind = [gpuStorageKind, gpuUnitKind].find((one) => one.kind === object.kind)!;
  const resource = cloud.tenants[0]!.client.resource<typeof object>(kind).in('default');
  const { name = '' } = object.metadata;
  const created = await resource.create({ ...object, metadata: { name, namespace: 'default' } });
  // Another page may have an example with the same name.
  await resource.delete(name);
  // Nothing was dropped.
  expect(created.spec).toMatchObject(object.spec);
});
