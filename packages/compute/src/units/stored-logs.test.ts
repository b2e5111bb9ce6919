import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type GPUUnit, nodeUnitName } from '@capstan/api';
import { fleet as wholeFleet } from '@capstan/fleet';
import type { KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import type { NodeConnection } from '@capstan/streams';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { compute } from '../product.ts';
import { PretendFleet, TenantUnits } from './testing/pretend-fleet.ts';

const patiently = { timeout: 20_000, interval: 20 };
const podKind = { group: '', version: 'v1', resource: 'pods', namespaced: true };

let cloud: Cloud;
let units: GPUUnit[];
/** The answer of the node; undefined if it is not connected. */
let answer: { status: number; body: string } | undefined;
const connection: NodeConnection = {
  request() {
    const stream = new PassThrough();
    stream.end(answer!.body);
    return Promise.resolve({ status: answer!.status, headers: {}, stream });
  },
};

beforeAll(async () => {
  const products = [{ ...wholeFleet, controllers: [] }, compute];
  cloud = await startCloud({ products, tenants: 2, server: { tunnels: { to: () => (answer === undefined ? undefined : connection) } } });
  const fleet = new PretendFleet(cloud.platform);
  await vi.waitFor(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]), patiently);
  await fleet.makePool('logs');
  units = await Promise.all(
    cloud.tenants.map(async ({ client }) => {
      const unit = await new TenantUnits(client).create('same', { offering: 'logs' });
      await vi.waitFor(() => client.resource(podKind).in('default').get('same'), patiently);
      return unit;
    }),
  );
  await Promise.all(units.map((unit, index) => store(unit, `tenant ${index + 1}`)));
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

/** Writes what an agent would have sent. */
async function store(unit: GPUUnit, who: string, run = 0): Promise<void> {
  const { annotations, uid = '' } = (unit as unknown as KubeObject).metadata;
  const path = [annotations?.['kcp.io/cluster'] ?? '', 'default', nodeUnitName(uid, 1), 'logs-0', String(run)];
  const folder = join(cloud.server.directory, 'logs', ...path);
  mkdirSync(folder, { recursive: true });
  const line = (second: number, text: string): string => `2026-01-01T00:00:0${second}.5Z stdout F ${text}\n`;
  writeFileSync(join(folder, '0000000000000000.log'), line(1, `${who}, run ${run}`) + line(2, 'two'));
  writeFileSync(join(folder, '0000000000000100.log'), line(3, 'three'));
}

const log = (query = '', tenant = 0) =>
  cloud.server.call(`/clusters/${cloud.tenants[tenant]!.path}/api/v1/namespaces/default/pods/same/log${query}`);

describe('the output of a unit whose node is away', () => {
  test('comes from the store, and from the own workspace only', async () => {
    expect((await log()).text).toBe('tenant 1, run 0\ntwo\nthree\n');
    expect((await log('', 1)).text).toBe('tenant 2, run 0\ntwo\nthree\n');
  });

  test('has the usual options', async () => {
    expect((await log('?tailLines=2')).text).toBe('two\nthree\n');
    expect((await log('?timestamps=true&tailLines=1')).text).toBe('2026-01-01T00:00:03.5Z three\n');
    expect((await log('?sinceTime=2026-01-01T00:00:03Z')).text).toBe('three\n');
    expect((await log('?limitBytes=6')).text).toBe('tenant');
    expect((await log('?follow=true&limitBytes=6')).text).toBe('tenant');
    expect((await log('?previous=true')).code).toBe(404);
    await store(units[0]!, 'tenant 1', 1);
    expect((await log('?tailLines=3')).text).toBe('tenant 1, run 1\ntwo\nthree\n');
    expect((await log('?previous=true')).text).toBe('tenant 1, run 0\ntwo\nthree\n');
  });

  test('comes from the node again when it is back, and from the store if the node has forgotten it', async () => {
    answer = { status: 200, body: 'from the node\n' };
    expect((await log()).text).toBe('from the node\n');
    answer = { status: 404, body: JSON.stringify({ kind: 'Status', reason: 'NotFound', message: 'unknown' }) };
    expect((await log('?tailLines=1')).text).toBe('three\n');
    answer = { status: 400, body: JSON.stringify({ kind: 'Status', reason: 'BadRequest', message: 'not started yet' }) };
    expect((await log()).code).toBe(400);
    answer = undefined;
  });

  test('needs the right to read logs', async () => {
    const path = `/clusters/${cloud.tenants[0]!.path}/api/v1/namespaces/default/pods/same/log`;
    const headers = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
    expect((await cloud.server.call(path, { headers })).code).toBe(403);
  });
});
