import { asClusterId } from '@capstan/api';
import { compileSchema, type KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import type { WebhookCall, WebhookClient } from '../admission/webhooks/client.ts';
import { CacheEntry } from '../cache/entry.ts';
import { Pace } from '../registry/pace.ts';
import type { ConversionParts } from './conversion.ts';
import { webhookConversion } from './webhook.ts';

const schema = compileSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
const version = { name: 'v2', served: true };
const parts = {
  summary: { group: 'example.com', names: { kind: 'Thing' }, storageVersion: 'v1', versions: [{ name: 'v1', served: true }, version] },
  version,
  cluster: asClusterId('a'),
  isOlder: () => false,
  schemaOf: () => schema,
} as unknown as ConversionParts;

const entryOf = (index: number, size: number): CacheEntry =>
  new CacheEntry(
    `a//${index}`,
    `{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1","name":"${index}"},"data":"${'x'.repeat(size)}"}`,
    1,
  );

interface Asked {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: KubeObject[] };
}

/** A webhook that changes only the version, and the lengths of what it was asked. */
function webhook(): { client: WebhookClient; lengths: number[]; counts: number[] } {
  const [lengths, counts]: [number[], number[]] = [[], []];
  const post = ({ body }: WebhookCall): Promise<{ code: number; type: string; text: string }> => {
    const text = body();
    lengths.push(text.length);
    const { request } = JSON.parse(text) as Asked;
    counts.push(request.objects.length);
    const convertedObjects = request.objects.map((object) => ({ ...object, apiVersion: request.desiredAPIVersion }));
    const response = { uid: request.uid, result: { status: 'Success' }, convertedObjects };
    return Promise.resolve({
      code: 200,
      type: 'application/json',
      text: JSON.stringify({ kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1', response }),
    });
  };
  return { client: { post } as WebhookClient, lengths, counts };
}

const rule = { strategy: 'Webhook', clientConfig: { url: 'https://hook.example.com' }, reviewVersions: ['v1'] } as const;

test('a list is converted in batches of bounded length, and others run between its objects', async () => {
  const { client, lengths, counts } = webhook();
  const conversion = webhookConversion(client)(parts, rule);
  const entries = [
    ...Array.from({ length: 20 }, (_, index) => entryOf(index, 500_000)),
    entryOf(20, 3 << 20),
    ...Array.from({ length: 600 }, (_, index) => entryOf(100 + index, 10)),
  ];
  let time = 0;
  let turns = 0;
  const pace = new Pace({ turn: () => Promise.resolve(void turns++) }, () => (time += 10));
  await conversion.ahead!(entries, pace);
  expect(counts).toEqual([4, 4, 4, 4, 4, 1, 500, 100]);
  expect(Math.max(...lengths.filter((_, index) => counts[index] !== 1))).toBeLessThan(2.1 * 2 ** 20);
  expect(turns).toBeGreaterThanOrEqual(2 * entries.length);
  const last = entries.at(-1)!;
  expect(conversion.fromStorage(last.parse(), last).apiVersion).toBe('example.com/v2');
});
