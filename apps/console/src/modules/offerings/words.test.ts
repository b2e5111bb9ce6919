import type { Offering } from '@capstan/api';
import { expect, test } from 'vitest';
import { offeringWords } from './words.ts';

const offering = (spec: object): Offering => ({ apiVersion: 'v1', kind: 'Offering', metadata: {}, spec }) as unknown as Offering;

test.each([
  [{ gpu: { model: 'H100', count: 4, nvlink: 'Required' }, exclusive: false }, '4 × H100, NVLink'],
  [{ cpu: 2, memory: '8Gi', exclusive: false }, '2 cpu, 8Gi'],
  [{ fraction: 2, exclusive: false }, '1/2 of a node'],
  [{ fraction: 4, gpu: { model: 'H200' }, exclusive: false }, '1/4 of a node, H200'],
  [{ gpu: { count: 2 }, exclusive: false }, '2 × GPU'],
  [{ exclusive: true, gpu: { model: 'H200', count: 8 } }, 'a whole node, 8 × H200'],
  [{ gpu: { count: 1, migProfile: '1g.10gb' }, exclusive: false }, '1 × GPU 1g.10gb'],
])('says what %j gives', (spec, words) => expect(offeringWords(offering(spec))).toBe(words));
