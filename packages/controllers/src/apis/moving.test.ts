import {
  type ApiConversion,
  type ApiResourceSchema,
  apiConversionKind,
  apiResourceSchemaKind,
  boundSchemasCluster,
  type VersionConversion,
} from '@capstan/api';
import type { Client, WatchEvent } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { namespaceType } from './kinds.ts';
import { binding, bindings, cowboy, cowboySchema, cowboyType, exports, offer, type SharingSuite, startSharing } from './testing.ts';

let suite: SharingSuite;
beforeAll(async () => {
  suite = await startSharing();
});
afterAll(() => suite[Symbol.asyncDispose]());

const eventually = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 50 });
const v1 = { ...cowboyType, version: 'v1' };
const rename = (from: string, to: string) => [{ field: `.spec.${from}`, destination: `.spec.${to}` }];
const rules = [
  { from: 'v1alpha1', to: 'v1', rules: rename('intent', 'plan') },
  { from: 'v1', to: 'v1alpha1', rules: rename('plan', 'intent'), preserve: ['.spec.mood'] },
];

/** A schema in which the field has another name, and objects are stored in the newer version. */
function newerSchema(): ApiResourceSchema {
  const schema = cowboySchema('tomorrow');
  const version = (name: string, fields: string[], storage: boolean): object => {
    const properties = Object.fromEntries(fields.map((field) => [field, { type: 'string' }]));
    const spec = { type: 'object', properties };
    return { name, served: true, storage, schema: { type: 'object', properties: { spec } }, subresources: {} };
  };
  const versions = [version('v1alpha1', ['intent'], false), version('v1', ['plan', 'mood'], true)];
  return { ...schema, spec: { ...schema.spec!, conversion: { strategy: 'None' }, versions: versions as never } };
}

const conversion = (conversions: readonly VersionConversion[]): ApiConversion => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIConversion',
  metadata: { name: 'tomorrow.cowboys.wildwest.dev' },
  spec: { conversions },
});

const move = (provider: Client, schema: string): Promise<unknown> =>
  exports(provider).patch('cowboys', { type: 'json', patch: [{ op: 'replace', path: '/spec/resources/0/schema', value: schema }] });

/** Like an informer: list, then watch, and again whenever the watch ends. */
class Follower {
  readonly events: string[] = [];
  ends = 0;

  constructor(client: Client, type: typeof cowboyType, signal: AbortSignal) {
    void this.#run(client, type, signal).catch(() => undefined);
  }

  async #run(client: Client, type: typeof cowboyType, signal: AbortSignal): Promise<void> {
    const cowboys = client.resource(type).in('default');
    let { resourceVersion } = (await cowboys.list()).metadata;
    while (!signal.aborted) {
      for await (const event of cowboys.watch({ resourceVersion, signal }) as AsyncIterable<WatchEvent>) {
        resourceVersion = event.object.metadata.resourceVersion!;
        const { apiVersion, metadata, spec } = event.object as KubeObject & { spec: object };
        this.events.push(`${event.type} ${metadata.name} ${apiVersion} ${JSON.stringify(spec)}`);
      }
      this.ends++;
    }
  }
}

test('moves an export to a schema with another stored version without losing objects or watches', async () => {
  const provider = await suite.workspace('mover');
  await offer(provider, 'cowboys');
  const consumers = [await suite.workspace('first'), await suite.workspace('second')];
  const stop = new AbortController();
  const followers: Follower[] = [];
  for (const consumer of consumers) {
    await bindings(consumer).create(binding('cowboys', 'mover'));
    await eventually(async () => expect((await bindings(consumer).get('cowboys')).status?.phase).toBe('Bound'));
    await consumer.resource(namespaceType).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    await consumer.resource(cowboyType).in('default').create(cowboy('old'));
    followers.push(new Follower(consumer, cowboyType, stop.signal));
  }

  await provider.resource<ApiResourceSchema>(apiResourceSchemaKind).create(newerSchema());
  await provider.resource<ApiConversion>(apiConversionKind).create(conversion(rules));
  await move(provider, 'tomorrow.cowboys.wildwest.dev');
  for (const [index, consumer] of consumers.entries()) {
    await eventually(async () => {
      const [bound] = (await bindings(consumer).get('cowboys')).status!.boundResources!;
      expect(bound).toMatchObject({ schema: { name: 'tomorrow.cowboys.wildwest.dev' }, storageVersions: ['v1', 'v1alpha1'] });
    });
    await eventually(async () => expect(followers[index]!.ends).toBeGreaterThan(0));
    const older = consumer.resource(cowboyType).in('default');
    const newer = consumer.resource(v1).in('default');
    expect((await newer.list()).items.map(({ spec }) => spec)).toEqual([{ plan: 'yeehaw' }]);
    await newer.patch('old', { type: 'merge', patch: { spec: { plan: 'rest', mood: 'tired' } } });
    expect((await older.get('old'))['spec']).toEqual({ intent: 'rest' });
    await older.patch('old', { type: 'merge', patch: { spec: { intent: 'ride' } } });
    expect((await newer.get('old'))['spec']).toEqual({ plan: 'ride', mood: 'tired' });
    await older.create(cowboy('new'));
    expect((await newer.get('new'))['spec']).toEqual({ plan: 'yeehaw' });
    const kind = 'wildwest.dev/v1alpha1';
    await eventually(async () =>
      expect(followers[index]!.events).toEqual([
        `MODIFIED old ${kind} {"intent":"rest"}`,
        `MODIFIED old ${kind} {"intent":"ride"}`,
        `ADDED new ${kind} {"intent":"yeehaw"}`,
      ]),
    );
  }
  stop.abort();

  // The conversion rules are copied with the schema, so that consumers do not depend on the provider.
  const changed = conversion([{ ...rules[0]!, rules: rename('intent', 'mood') }, rules[1]!]);
  const { resourceVersion } = (await provider.resource(apiConversionKind).get('tomorrow.cowboys.wildwest.dev')).metadata;
  await provider
    .resource<ApiConversion>(apiConversionKind)
    .update({ ...changed, metadata: { ...changed.metadata, resourceVersion: resourceVersion! } });
  const copies = (await provider.cluster(boundSchemasCluster).resource<ApiConversion>(apiConversionKind).list()).items;
  expect(copies).toHaveLength(1);
  await eventually(async () =>
    expect(
      (await provider.cluster(boundSchemasCluster).resource<ApiConversion>(apiConversionKind).get(copies[0]!.metadata.name!)).spec,
    ).toEqual(changed.spec),
  );
  await provider.resource(apiConversionKind).delete('tomorrow.cowboys.wildwest.dev');
  await exports(provider).delete('cowboys');
  expect((await consumers[0]!.resource(v1).in('default').get('old'))['spec']).toEqual({ plan: 'ride', mood: 'tired' });
});
