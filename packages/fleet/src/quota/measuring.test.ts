import { definedKinds, defineKind, fleetQuotaKind, measures, newObject, nodeVolumeKind, objectSchema, schema } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { limitsIn } from './limits.ts';
import { quotaWords } from './measures.ts';
import { measuring } from './measuring.ts';
import { QuotaGate } from './quota-gate.ts';

const { object, text } = schema;
const parts = { group: 'notes.example.com', kind: 'Note', plural: 'notes', scope: 'Namespaced', description: 'A note.' } as const;
const versions = { v1: { spec: object('The note.', { text: text('Its text.', { maxLength: 100 }) }) } } as const;

/** A kind of a product that the quotas know nothing of. */
const noteKind = defineKind({
  ...parts,
  measures: [
    { name: 'notes', description: 'notes', unit: 'count', words: ['note', 'notes'], amount: '1' },
    { name: 'noteWords', description: 'words', unit: 'count', words: ['word', 'words'], amount: "self.spec.text.split(' ').size()" },
  ],
  versions,
});
const note = (words: string) => newObject(noteKind, { metadata: { name: 'a' }, spec: { text: words } });

describe('a kind', () => {
  test('is measured as its definition says', () => {
    expect(measuring(noteKind)(note('three words here'))).toEqual({ notes: 1, noteWords: 3 });
    const volume = (phase?: string): KubeObject => ({
      apiVersion: 'fleet.capstan.dev/v1alpha1',
      kind: 'NodeVolume',
      metadata: {},
      spec: { size: 5 },
      ...(phase !== undefined && { status: { phase } }),
    });
    const measured = measuring(nodeVolumeKind);
    const one = volume('Ready');
    // Once: the same answer, and not only an equal one.
    expect(measured(one)).toBe(measured(one));
    expect([volume(), volume('Ready'), volume('Deleted')].map((one) => measured(one))).toEqual([
      { storage: 5 },
      { storage: 5 },
      { storage: 0 },
    ]);
  });

  test.each([
    ['self.spec.size', /Note: the amount "self.spec.size" is wrong: .*undefined field 'size'/s],
    ['-1', /Note, wrong: expected a whole number that is not negative, found -1/],
    ['self.spec.text', /found "words"/],
    ['size(self.spec.text) / 0', /Note, wrong: .*divi/],
  ])('with the amount %j is refused', (amount, message) => {
    const wrong = { name: 'wrong', description: 'nothing', unit: 'count', words: ['thing', 'things'], amount } as const;
    expect(() => measuring(defineKind({ ...parts, measures: [wrong], versions }))(note('words'))).toThrow(message);
  });

  test('has measures with names of their own, which limits of quotas name', () => {
    expect([...measures.keys()]).toHaveLength(definedKinds.flatMap((kind) => kind.measures).length);
    const { spec } = objectSchema(fleetQuotaKind, fleetQuotaKind.versions.v1alpha1)['properties'] as {
      spec: { properties: { limits: { properties: object } } };
    };
    expect(Object.keys(spec.properties.limits.properties).toSorted()).toEqual([...measures.keys(), 'others'].toSorted());
  });
});

test('limits have the unit of their measure, and words', () => {
  const limits = limitsIn({ cpu: '1500m', memory: '1Gi', models: { H100: 8 }, others: { noteWords: '100k' } });
  expect(limits).toEqual({ cpu: 1_500, memory: 2 ** 30, 'models/H100': 8, noteWords: 100_000 });
  expect(quotaWords({ resource: 'other', measure: 'noteWords' }, 5)).toBe('5 noteWords');
});

test('objects of a product that quotas know nothing of are limited by its measures', () => {
  const measured = measuring(noteKind);
  const one = (id: string, words: string) => ({ id, path: 'root:acme:team', amount: measured(note(words)) });
  const gate = new QuotaGate(noteKind.measures.map(({ name }) => name));
  const state = {
    quotas: [{ workspace: 'root:acme', homes: false, limits: { others: { noteWords: 5 } } }],
    counted: () => [one('first', 'two words')],
  };
  expect(gate.admit(one('second', 'three more words'), state)).toBeUndefined();
  expect(gate.admit(one('third', 'more'), state)).toBe(
    'the limit of root:acme is 5 noteWords; 5 noteWords are in use, and 1 noteWords was asked for',
  );
  expect(gate.admit(one('first', 'two'), state)).toBeUndefined();
  expect(gate.admit({ ...one('other', 'a b c d e f'), path: 'root:other' }, state)).toBeUndefined();
});
