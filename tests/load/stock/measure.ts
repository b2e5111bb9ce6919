import { setTimeout as sleep } from 'node:timers/promises';
import { type GPUUnit, gpuUnitKind, type NodeUnit, newObject, nodeUnitKind, type Offering, offeringKind } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { Child, capstanProgram } from '@capstan/testbed';
import { ControlPlane } from '../agents/control-plane.ts';
import { Latencies } from '../measure/latencies.ts';
import type { Measurement } from '../profiles/profile.ts';
import { makeProject, until } from './project.ts';

/** In milliseconds. */
const rest = 1_000;

/** Starts of units one after the other, from the request that creates a GPUUnit to the first thing that its program does: without stock, and from stock. */
export async function measureStock({ count = 20 }: { readonly count?: number | undefined }): Promise<Measurement[]> {
  await using plane = await ControlPlane.start();
  const [command = '', ...args] = await plane.enroll('n1');
  const more = ['--state-dir', plane.directory.join('n1'), '--gpus', plane.declaredGpus(), '--allow-unisolated'];
  await using agent = new Child('capstan node-agent', [process.execPath, capstanProgram, command, ...args, ...more]);
  await agent.waitUntil('its tunnel is open', () => agent.output.includes('is open'));
  const tenant = await makeProject(plane);
  for (const [name, units] of [
    ['cold', 0],
    ['warm', 2],
  ] as const)
    await plane.platform.resource<Offering>(offeringKind).create(
      newObject(offeringKind, {
        metadata: { name },
        spec: { gpu: { count: 1 }, cpu: '500m', memory: '1Gi', stock: { units } },
      }) as Offering,
    );
  const runs = { cold: new Latencies(count), warm: new Latencies(count) };
  // The first of each is not counted: code is compiled while it runs.
  for (let number = 0; number <= count; number++)
    for (const offering of ['cold', 'warm'] as const) {
      await until('the stock is ready', () => isReady(plane.platform, 2));
      // The node may still be cleaned after the last unit.
      await sleep(rest);
      const time = await startOne(tenant, { name: `${offering}-${number}`, offering });
      if (number > 0) runs[offering].add(time);
    }
  const rows = (offering: 'cold' | 'warm', what: string): Measurement[] =>
    [0.5, 0.99].map((share) => ({
      what: `${what}: p${share * 100}`,
      value: runs[offering].quantile(share),
      unit: 'ms',
      better: 'lower',
    }));
  return [...rows('cold', 'from the creation of a unit to the start of its program'), ...rows('warm', 'the same from stock')];
}

/** The program prints the time as its first act. */
async function startOne(tenant: Client, { name, offering }: { readonly name: string; readonly offering: string }): Promise<number> {
  const units = tenant.resource<GPUUnit>(gpuUnitKind).in('default');
  const spec = { offering, command: ['/bin/date', '+%s%N'] };
  const began = performance.timeOrigin + performance.now();
  await units.create(newObject(gpuUnitKind, { metadata: { name, namespace: 'default' }, spec }) as GPUUnit);
  await until(`${name} ends`, async () => (await units.get(name)).status?.phase === 'Succeeded');
  const [line = ''] = (await units.get(name)).status?.members?.[0]?.lastLines ?? [];
  await units.delete(name);
  await until(`${name} is gone`, async () => (await ignoring(units.get(name), isNotFound)) === undefined);
  return Number(BigInt(line.trim()) / 1_000n) / 1_000 - began;
}

async function isReady(platform: Client, count: number): Promise<boolean> {
  const { items } = await platform.resource<NodeUnit>(nodeUnitKind).list();
  return items.filter(({ spec, status }) => spec.warm && status?.phase === 'Warm').length === count;
}
