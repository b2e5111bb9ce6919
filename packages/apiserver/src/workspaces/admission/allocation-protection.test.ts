import { allocationFinalizer, allocationKind, asClusterId, groupResource } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import type { BindingFacts } from '../../bindings/bindings.ts';
import type { AdmissionRequest } from '../../registry/admission.ts';
import { allocationProtection } from './allocation-protection.ts';

const platform = asClusterId('platform');
const facts: BindingFacts = { provider: platform, exportName: 'compute.capstan.dev', label: '', bound: [], claims: [], claimsKey: '' };
const plugin = allocationProtection({
  platform: () => platform,
  bindings: {
    to: (cluster, { provider, name }) => (cluster === 'bound' && provider === platform && name === facts.exportName ? facts : undefined),
  },
});

/** The finalizers of an object after the request. */
function finalizersAfter(request: {
  cluster?: string;
  resource?: object;
  operation?: string;
  finalizers?: string[];
}): string[] | undefined {
  const { cluster = 'bound', resource = groupResource(allocationKind), operation = 'CREATE', finalizers } = request;
  const object = { metadata: { name: 'a', ...(finalizers && { finalizers }) } } as KubeObject;
  void plugin.mutate?.({ operation, subresource: '', resource, object, context: { cluster } } as unknown as AdmissionRequest);
  return object.metadata.finalizers;
}

describe('a new Allocation', () => {
  it('gets the finalizer of the scheduler beside its own, once', () => {
    expect(finalizersAfter({})).toEqual([allocationFinalizer]);
    expect(finalizersAfter({ finalizers: ['example.com/own'] })).toEqual(['example.com/own', allocationFinalizer]);
    expect(finalizersAfter({ finalizers: [allocationFinalizer] })).toEqual([allocationFinalizer]);
  });

  it("gets none if the kind is a tenant's own, since nobody would remove it", () => {
    expect(finalizersAfter({ cluster: 'unbound' })).toBeUndefined();
  });

  it('gets none by a change, so that the scheduler can remove it', () => {
    expect(finalizersAfter({ operation: 'UPDATE' })).toBeUndefined();
    expect(finalizersAfter({ resource: { group: 'compute.capstan.dev', resource: 'gpuunits' } })).toBeUndefined();
  });
});
