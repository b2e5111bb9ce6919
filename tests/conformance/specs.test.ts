import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { focused, focusPattern, parseSpecs } from './specs.ts';

test('parses one name per line, below what the specs need', () => {
  const needs = { from: 'capstan', what: 'the collector' };
  expect(parseSpecs('# remark\n[sig-x] one\n\n# needs the collector\n[sig-x] two\n[sig-x] three\n')).toEqual([
    { name: '[sig-x] one' },
    { name: '[sig-x] two', needs },
    { name: '[sig-x] three', needs },
  ]);
});

test.each([
  ['the collector', 'capstan'],
  ['the collector, and kube-controller-manager for deployments', 'kubernetes'],
  ['a kubelet', 'a node'],
])('%s: from %s', (what, from) => {
  expect(parseSpecs(`# needs ${what}\nspec`)).toEqual([{ name: 'spec', needs: { from, what } }]);
});

test('lists no spec twice', () => {
  const names = parseSpecs(readFileSync(join(import.meta.dirname, 'specs.txt'), 'utf8')).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('selects specs by words in any order and case', () => {
  const specs = parseSpecs('Watchers should restart\nWatchers should start\nEvents should start');
  expect(focused(specs, 'START watchers').map(({ name }) => name)).toEqual(['Watchers should restart', 'Watchers should start']);
  expect(focused(specs, '')).toHaveLength(3);
});

test('builds a pattern that matches its own name only', () => {
  const pattern = new RegExp(focusPattern('[sig] works for a (b|c) and 1.2? [Conformance]'));
  expect(pattern.test('suite [sig] works for a (b|c) and 1.2? [Conformance]')).toBe(true);
  expect(pattern.test('[sig] works for a (b|c) and 1x2? [Conformance]')).toBe(false);
  expect(pattern.test('[sig] works for a (b|c) and 1.2? [Conformance] in time')).toBe(false);
});
