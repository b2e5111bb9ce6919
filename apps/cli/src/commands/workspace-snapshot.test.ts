import { expect, test } from 'vitest';
import { describeImport } from './workspace-snapshot.ts';

const nothing = { created: 3, kept: ['core/namespaces//default'], skipped: [], rebound: [], unbound: [] };

test('an import says what became of every object', () => {
  expect(describeImport(nothing, 'root:a')).toEqual(['restored 3 of 4 objects into root:a; 1 there already, 0 left out']);
  const skipped = ['apis.kcp.io/apibindings//models', 'tenancy.kcp.io/workspaces//below'];
  expect(describeImport({ ...nothing, skipped }, 'root:a')).toEqual([
    'restored 3 of 6 objects into root:a; 1 there already, 2 left out',
    'left out, being workspaces of their own or bindings to what is bound here under another name: apis.kcp.io/apibindings//models, tenancy.kcp.io/workspaces//below',
  ]);
});

test('an import says which bindings have no provider, and what to do', () => {
  const unbound = [
    { binding: 'models', export: 'root:ai:models', reason: 'NoExport', objects: 12 },
    { binding: 'disks', export: 'root:storage:disks', reason: 'OtherIdentity', objects: 1 },
  ] as const;
  expect(describeImport({ ...nothing, rebound: ['nets'], unbound }, 'root:a').slice(1)).toEqual([
    'bound to the exports that are here: nets',
    'these APIBindings have no provider here, and their objects are kept but not served:',
    '  models (12 objects) to root:ai:models: there is no such APIExport here',
    '  disks (1 objects) to root:storage:disks: the APIExport here has another identity',
    'to give the objects to exports of the same path and name, make the exports that are missing, then run this again with --rebind',
  ]);
});
