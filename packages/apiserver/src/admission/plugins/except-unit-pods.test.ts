import { unitLabel } from '@capstan/api';
import { expect, test } from 'vitest';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { exceptUnitPods } from './except-unit-pods.ts';

const request = (resource: string, labels: Record<string, string>): AdmissionRequest =>
  ({ resource: { group: '', resource }, object: { metadata: { labels } } }) as unknown as AdmissionRequest;

test.each([
  ['pods', {}, ['mutate', 'validate']],
  ['pods', { [unitLabel]: 'x' }, []],
  ['configmaps', { [unitLabel]: 'x' }, ['mutate', 'validate']],
])('for %s with the labels %j, the plugin is asked to %j', (resource, labels, expected) => {
  const asked: string[] = [];
  const plugin: AdmissionPlugin = { name: 'Any', mutate: () => void asked.push('mutate'), validate: () => void asked.push('validate') };
  const wrapped = exceptUnitPods(plugin);
  void wrapped.mutate!(request(resource, labels));
  void wrapped.validate!(request(resource, labels));
  expect([wrapped.name, asked]).toEqual(['Any', expected]);
});
