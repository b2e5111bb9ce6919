import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { asClusterId } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atRevision, CacheEntry, movedTo, servedText, storedText } from './entry.ts';

const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'x' }, data: { k: '"resourceVersion":""' } };

test('the stored text has an empty revision, which the commit fills in', () => {
  const text = servedText('root//x', storedText(object), 42);
  expect(text.startsWith('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"42",')).toBe(true);
  expect(JSON.parse(text)).toEqual({ ...object, metadata: { ...object.metadata, resourceVersion: '42' } });
});

test('a deletion has the last state at its own revision', () => {
  expect(JSON.parse(atRevision(servedText('root//x', storedText(object), 42), 43)).metadata.resourceVersion).toBe('43');
});

test('any object survives a round trip through the store', () => {
  const values = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(values, fc.dictionary(fc.string(), fc.string()), (rest, labels) => {
      const whole = { ...JSON.parse(JSON.stringify(rest)), kind: 'K', apiVersion: 'g/v1', metadata: { name: 'n', labels } };
      const back = JSON.parse(servedText('root//x', storedText(whole), 7));
      expect(back).toEqual({ ...whole, metadata: { ...whole.metadata, resourceVersion: '7' } });
      const { kind, apiVersion, metadata } = back;
      expect(CacheEntry.stored('root//x', storedText(whole), 7).parseHead()).toEqual({ kind, apiVersion, metadata });
    }),
  );
});

test('a key named __proto__ is ordinary data', () => {
  const hostile = JSON.parse('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"__proto__":"x","constructor":"y"}}');
  expect(servedText('root//x', storedText(hostile), 1)).toContain('"data":{"__proto__":"x","constructor":"y"}');
});

test('an object served in another workspace looks as if it were stored there', () => {
  const clusters = fc.constantFrom('root', 'provider', 'consumer').map(asClusterId);
  const annotations = fc.option(fc.dictionary(fc.string({ minLength: 1 }), fc.string()), { nil: undefined });
  fc.assert(
    fc.property(clusters, clusters, annotations, (from, to, own) => {
      const whole = { ...object, metadata: { name: 'n', ...(own !== undefined && { annotations: own }) } };
      const stored = storedText(whole);
      expect(movedTo(to, `${from}//n`, servedText(`${from}//n`, stored, 7))).toBe(servedText(`${to}//n`, stored, 7));
    }),
  );
});

describe('the parsed object', () => {
  const text = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"5","name":"a","labels":{"x":"y"}}}';
  /** Resolves after all unreferenced objects are collected. */
  async function collected(): Promise<void> {
    await new Promise(setImmediate);
    setFlagsFromString('--expose_gc');
    (runInNewContext('gc') as () => void)();
  }

  test('is kept for kinds that are read often, and only weakly for others', async () => {
    const [kept, passing] = [new CacheEntry('root/x/a', text, 5), new CacheEntry('root/x/a', text, 5)];
    const [first, second] = [new WeakRef(kept.object), new WeakRef(passing.passingObject)];
    await collected();
    expect([first.deref() === undefined, second.deref() === undefined]).toEqual([false, true]);
    expect(passing.passingObject).toEqual(kept.object);
  });

  test('is the same through both accessors', () => {
    const entry = new CacheEntry('root/x/a', text, 5);
    const { passingObject } = entry;
    expect([entry.passingObject === passingObject, entry.object === passingObject]).toEqual([true, true]);
    expect(entry.labels).toEqual({ x: 'y' });
  });
});
