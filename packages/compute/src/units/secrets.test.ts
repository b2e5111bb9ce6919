import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { resolve, type Source, sourcesOf } from './secrets.ts';
import { unitWith } from './testing/unit.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');
const objects: Readonly<Record<string, object>> = {
  'Secret/tokens': { hub: encoded('sesame') },
  'ConfigMap/settings': { level: 'debug' },
  'Secret/registry': { '.dockerconfigjson': encoded('{"auths":{}}') },
  'Secret/empty': {},
};
const read = ({ kind, name }: Source): KubeObject | undefined => {
  const data = objects[`${kind}/${name}`];
  return data && ({ apiVersion: 'v1', kind, metadata: { name }, data } as unknown as KubeObject);
};
const secret = (name: string, key: string, rest: object = {}) => ({ name: 'TOKEN', secret: { name, key, ...rest } });

describe('the secrets of a unit', () => {
  test('are those of its variables and its image, each read once', () => {
    const env = [
      secret('tokens', 'hub'),
      { ...secret('tokens', 'other'), name: 'B' },
      { name: 'C', configMap: { name: 'settings', key: 'level' } },
      { name: 'D', value: 'x' },
    ];
    expect(sourcesOf(unitWith({ env, imagePullSecret: 'registry' }).spec)).toEqual([
      { kind: 'Secret', name: 'tokens' },
      { kind: 'ConfigMap', name: 'settings' },
      { kind: 'Secret', name: 'registry' },
    ]);
  });

  test.each([
    ['a Secret', [secret('tokens', 'hub')], undefined, { env: { TOKEN: 'sesame' } }],
    ['a ConfigMap', [{ name: 'LEVEL', configMap: { name: 'settings', key: 'level' } }], undefined, { env: { LEVEL: 'debug' } }],
    ['plain values', [{ name: 'PLAIN', value: 'x' }], undefined, { env: {} }],
    [
      'optional ones that are missing',
      [secret('none', 'hub', { optional: true }), { ...secret('empty', 'hub', { optional: true }), name: 'B' }],
      undefined,
      { env: {} },
    ],
    ['an image', [], 'registry', { env: {}, pullConfig: '{"auths":{}}' }],
  ])('are sent with their values: %s', (_, env, imagePullSecret, values) => {
    const { spec } = unitWith({ env, ...(imagePullSecret !== undefined && { imagePullSecret }) });
    expect(resolve(spec, read)).toEqual({ kind: 'complete', values });
  });

  test.each([
    [[secret('none', 'hub')], undefined, 'there is no Secret none'],
    [[{ name: 'A', configMap: { name: 'none', key: 'x' } }], undefined, 'there is no ConfigMap none'],
    [[secret('tokens', 'other')], undefined, 'the Secret tokens has no key other, which the variable TOKEN needs'],
    [[secret('tokens', 'constructor')], undefined, 'the Secret tokens has no key constructor, which the variable TOKEN needs'],
    [[], 'tokens', 'the Secret tokens has no key .dockerconfigjson, which imagePullSecret needs'],
  ])('that are missing are named: %j %s', (env, imagePullSecret, message) => {
    const { spec } = unitWith({ env, ...(imagePullSecret !== undefined && { imagePullSecret }) });
    expect(resolve(spec, read)).toEqual({ kind: 'missing', message });
  });
});
