import { expect, test } from 'vitest';
import { describeImport } from './workspace-snapshot.ts';

const nothing = { created: 3, kept: ['core/namespaces//default'], skipped: [], rebound: [], unbound: [] };

test('reports what happened to every object of an import', () => {
  expect(describeImport(nothing, 'root:a')).toEqual(['restored 3 of 4 objects into root:a; 1 already existed, 0 skipped']);
  const skipped = ['apis.kcp.io/apibindings//models', 'tenancy.kcp.io/workspaces//below'];
  expect(describeImport({ ...nothing, skipped }, 'root:a')).toEqual([
    'restored 3 of 6 objects into root:a; 1 already existed, 2 skipped',
    'skipped because they are workspaces, or bindings to exports that are bound here under another name: apis.kcp.io/apibindings//models, tenancy.kcp.io/workspaces//below',
  ]);
});

test('reports bindings without a provider, and what to do about them', () => {
  const unbound = [
    { binding: 'models', export: 'root:ai:models', reason: 'NoExport', objects: 12 },
    { binding: 'disks', export: 'root:storage:disks', reason: 'OtherIdentity', objects: 1 },
  ] as const;
  expect(describeImport({ ...nothing, rebound: ['nets'], unbound }, 'root:a').slice(1)).toEqual([
    'rebound to the exports on this server: nets',
    'these APIBindings have no provider on this server; their objects are stored but not served:',
    '  models (12 objects) to root:ai:models: there is no such APIExport',
    '  disks (1 objects) to root:storage:disks: the APIExport has another identity',
    'to give the objects to exports with the same path and name, create the missing exports, then run this again with --rebind',
  ]);
});
