import { unitLabel, unitNodesAnnotation } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { placeOfContainer } from './target.ts';

const pod = (labels: Record<string, string>): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'train', labels, annotations: { [unitNodesAnnotation]: 'n1,n2,n3' } },
    spec: { nodeName: 'n1' },
  }) as KubeObject;

test.each([
  ['unit', 'n1', 'unit'],
  ['unit-2', 'n3', 'unit'],
  ['upload-1', 'n2', 'upload'],
  ['', 'n1', ''],
  ['unit-3', 'n1', 'unit-3'],
  ['unit-01', 'n1', 'unit-01'],
])('the container "%s" of a unit on three nodes is on %s', (asked, node, container) => {
  expect(placeOfContainer(pod({ [unitLabel]: 'train' }), asked)).toEqual({ node, container });
});

test('containers of other pods are on the node of the pod', () => {
  expect(placeOfContainer(pod({}), 'unit-2')).toEqual({ node: 'n1', container: 'unit-2' });
});
