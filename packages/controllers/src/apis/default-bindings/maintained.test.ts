import type { ApiBinding, ApiExport, WorkspaceType } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { acceptedClaims, hasClaims } from './accepted-claims.ts';
import { keysOfType, maintainedExports } from './maintained.ts';

const type = (name: string, spec: WorkspaceType['spec'] & object): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name, annotations: { 'kcp.io/cluster': 'id1', 'kcp.io/path': 'root:provider' } },
  spec,
});

function exportsIn(start: string, ...types: WorkspaceType[]): unknown {
  return maintainedExports(start, (path, name) => types.find((one) => keysOfType(one).includes(`${path}:${name}`)));
}

describe('maintainedExports', () => {
  test('returns the exports of the type and of all that it extends, where they are maintained', () => {
    const base = type('base', { defaultAPIBindings: [{ export: 'cowboys' }], defaultAPIBindingLifecycle: 'Maintain' });
    const loose = type('loose', { defaultAPIBindings: [{ export: 'sheriffs' }], defaultAPIBindingLifecycle: 'InitializeOnly' });
    const leaf = type('leaf', { extend: { with: [{ name: 'base', path: 'root:provider' }, { name: 'loose' }, { name: 'leaf' }] } });
    expect(exportsIn('root:provider:leaf', base, loose, leaf)).toEqual([{ path: 'id1', name: 'cowboys' }]);
    expect(exportsIn('root:provider:gone', base)).toEqual([]);
  });
});

test('accepts claims as they are made, in any order', () => {
  const claims = [
    { resource: 'configmaps', verbs: ['get', 'list'] },
    { group: 'apps', resource: 'deployments', verbs: ['*'] },
  ];
  const exported = { spec: { permissionClaims: claims } } as unknown as ApiExport;
  const accepted = acceptedClaims(exported);
  const binding = (permissionClaims: readonly object[]): ApiBinding => ({ spec: { permissionClaims } }) as unknown as ApiBinding;
  expect(hasClaims(binding([...accepted].reverse()), exported)).toBe(true);
  expect(hasClaims(binding(accepted.slice(1)), exported)).toBe(false);
  expect(hasClaims(binding(accepted.map((claim) => ({ ...claim, state: 'Rejected' }))), exported)).toBe(false);
});

test('accepts claims for the objects that the export selects, if it does', () => {
  const selector = { matchLabels: { 'platform.example.com/enabled': 'true' } };
  const claims = [{ resource: 'configmaps', verbs: ['get'], defaultSelector: selector }];
  const exported = { spec: { permissionClaims: claims } } as unknown as ApiExport;
  expect(acceptedClaims(exported)).toEqual([{ resource: 'configmaps', verbs: ['get'], selector, state: 'Accepted' }]);
});
