import type { JsonObject, KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { reconcileRoles } from './reconcile.ts';

const rule = (resource: string): JsonObject => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
const role = (name: string, fields: object, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, labels, resourceVersion: '7' },
  ...fields,
});
const part = role('part', { rules: [rule('pods')] }, { to: 'whole' });
const whole = (rules: JsonObject[]): KubeObject =>
  role('whole', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'whole' } }] }, rules });

describe('reconcileRoles', () => {
  test.each([
    ['applies the rules that an aggregated role lacks', [part, whole([])], ['whole']],
    ['replaces rules that no selected role has', [part, whole([rule('pods'), rule('secrets')])], ['whole']],
    ['writes nothing if the rules are up to date', [part, whole([rule('pods')])], []],
    ['leaves roles without an aggregationRule alone', [part], []],
  ])('%s', async (_what, roles, names) => {
    const applied: KubeObject[] = [];
    await reconcileRoles(roles, { apply: async (one) => applied.push(one) });
    expect(applied).toEqual(
      names.map((name) => ({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules: [rule('pods')] })),
    );
  });
});
