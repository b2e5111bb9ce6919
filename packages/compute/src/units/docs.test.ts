import { readFileSync } from 'node:fs';
import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { fleet as wholeFleet } from '@capstan/fleet';
import { parseYaml } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compute } from '../product.ts';

const page = readFileSync(new URL('../../../../docs/units.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text!);

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
  const unit = parseYaml(text) as unknown as GPUUnit;
  const { name = '' } = unit.metadata;
  const units = cloud.tenants[0]!.client.resource<GPUUnit>(gpuUnitKind).in('default');
  const created = await units.create({ ...unit, metadata: { name, namespace: 'default' } });
  // Nothing was dropped.
  expect(created.spec).toMatchObject(unit.spec);
});
