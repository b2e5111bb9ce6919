import { expect, it } from 'vitest';
import type { KubeObject } from '../json.ts';
import { aggregateRules, staleAggregations } from './aggregation.ts';
import type { PolicyRule } from './rule.ts';

const rule = (resource: string): PolicyRule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
const clusterRole = (name: string, labels: Record<string, string>, more: object): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, labels },
  ...more,
});
const gathers = (...clusterRoleSelectors: object[]): object => ({ aggregationRule: { clusterRoleSelectors }, rules: [] });

it('collects the rules of the selected roles by name, each once, without its own', () => {
  const all = [
    clusterRole('z', { to: 'view' }, { rules: [rule('z'), rule('shared')] }),
    clusterRole('a', { to: 'view' }, { rules: [rule('shared'), rule('a')] }),
    clusterRole('other', {}, { rules: [rule('other')] }),
    clusterRole('view', { to: 'view' }, gathers({ matchLabels: { to: 'view' } })),
  ];
  expect(aggregateRules(all[3]!, all)).toEqual([rule('shared'), rule('a'), rule('z')]);
  expect(aggregateRules(all[0]!, all)).toBeUndefined();
});

it.each([
  [{ key: 'to', operator: 'In', values: ['view'] }, true],
  [{ key: 'to', operator: 'NotIn', values: ['view'] }, false],
  [{ key: 'to', operator: 'Exists' }, true],
  [{ key: 'constructor', operator: 'Exists' }, false],
  [{ key: 'to', operator: 'DoesNotExist' }, false],
])('supports %j', (expression, chosen) => {
  const one = clusterRole('one', { to: 'view' }, { rules: [rule('a')] });
  const gathering = clusterRole('view', {}, gathers({ matchExpressions: [expression] }));
  expect(aggregateRules(gathering, [one, gathering])).toEqual(chosen ? [rule('a')] : []);
});

it('resolves chains of aggregated roles step by step, then stops', () => {
  const all = [
    clusterRole('admin', {}, gathers({ matchLabels: { to: 'admin' } })),
    clusterRole('edit', { to: 'admin' }, gathers({ matchLabels: { to: 'edit' } })),
    clusterRole('base', { to: 'edit' }, { rules: [rule('pods')] }),
  ];
  for (let round = 0; round < 2; round++) for (const { role, rules } of staleAggregations(all)) role['rules'] = rules;
  expect(all[0]!['rules']).toEqual([rule('pods')]);
  expect(staleAggregations(all)).toEqual([]);
});
