import { allocationFinalizer, allocationKind, type ClusterId, computeGroup } from '@capstan/api';
import type { Bindings } from '../../bindings/bindings.ts';
import { type AdmissionPlugin, isOf } from '../../registry/admission.ts';

/** The export of the product that grants allocations; its group has the same name. */
const name = computeGroup;

/**
 * Adds the scheduler's finalizer to new Allocations, so that it need not write each of them once more before it grants anything. Only where the kind is the platform's own:
 * nobody would remove the finalizer from a tenant's kind of the same name.
 */
export function allocationProtection({
  platform,
  bindings,
}: {
  readonly platform: () => ClusterId | undefined;
  readonly bindings: Pick<Bindings, 'to'>;
}): AdmissionPlugin {
  return {
    name: 'capstan.dev/AllocationProtection',
    mutate(request) {
      const { operation, subresource, object, context } = request;
      if (operation !== 'CREATE' || subresource !== '' || object === undefined || !isOf(request, allocationKind)) return;
      const provider = platform();
      if (provider === undefined || bindings.to(context.cluster, { provider, name }) === undefined) return;
      const { metadata } = object;
      if (!metadata.finalizers?.includes(allocationFinalizer)) metadata.finalizers = [...(metadata.finalizers ?? []), allocationFinalizer];
    },
  };
}
