import { type KubeObject, measureOf, printAmounts, type Scope } from '@capstan/machinery';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { slimMeasured } from './slim.ts';

const amounts = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'example.com/gpu', 'hugepages-2Mi'),
  fc.constantFrom('0', '1', '500m', '2Gi'),
);
const container = fc.record(
  {
    name: fc.constantFrom('a', 'b', 'c'),
    image: fc.string(),
    env: fc.array(fc.record({ name: fc.string(), value: fc.string() })),
    restartPolicy: fc.constant('Always'),
    resources: fc.record({ requests: amounts, limits: amounts }, { requiredKeys: [] }),
  },
  { requiredKeys: ['name'] },
);
const pod = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Pod'),
  metadata: fc.record(
    { name: fc.string(), deletionTimestamp: fc.constant('2026-01-01T00:00:00Z'), deletionGracePeriodSeconds: fc.nat(100) },
    { requiredKeys: ['name'] },
  ),
  spec: fc.record(
    {
      containers: fc.array(container),
      initContainers: fc.array(container),
      overhead: amounts,
      activeDeadlineSeconds: fc.nat(),
      priorityClassName: fc.constantFrom('high', 'low'),
      resources: fc.record({ limits: amounts }),
    },
    { requiredKeys: ['containers'] },
  ),
  status: fc.record({ phase: fc.constantFrom('Running', 'Failed'), containerStatuses: fc.array(container) }, { requiredKeys: [] }),
});
const scopes: readonly Scope[] = ['Terminating', 'BestEffort', 'PriorityClass', 'CrossNamespacePodAffinity'].map((scopeName) => ({
  scopeName,
  operator: 'Exists',
}));

test('a slimmed pod has the same usage and the same scopes', () => {
  const measure = measureOf({ group: '', resource: 'pods' });
  const now = new Date('2026-01-01T00:00:50Z');
  fc.assert(
    fc.property(pod, (fields) => {
      const whole = fields as unknown as KubeObject;
      const slim = slimMeasured(whole);
      expect(printAmounts(measure.usage(slim, now))).toBe(printAmounts(measure.usage(whole, now)));
      for (const scope of scopes) expect(measure.isInScope(scope, slim)).toBe(measure.isInScope(scope, whole));
    }),
  );
});
