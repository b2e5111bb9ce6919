import { fleetGroup, type GPUNode, gpuNodeKind, nodeAgentGroup, nodeOfAgent } from '@capstan/api';
import { sameJson, status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../registry/admission.ts';

/** Agents report the state of their node, and their identity is in it: they must not change that. Nor may they create more than they need. */
export const nodeIdentityAdmission: AdmissionPlugin = {
  name: 'capstan.dev/NodeIdentity',
  validate({ resource, object, old, name, context }) {
    if (!context.user.groups.includes(nodeAgentGroup) || object === undefined) return;
    // A node has one lease. Those with other names would only fill the store.
    if (resource.resource === 'leases' && old === undefined && name !== nodeOfAgent(context.user.name))
      throw status.forbidden(resource, name, 'an agent may only create the lease of its own node');
    if (resource.group !== fleetGroup || resource.resource !== gpuNodeKind.resource) return;
    const identityOf = (node: unknown): unknown => (node as GPUNode | undefined)?.status?.identity;
    if (!sameJson(identityOf(object), identityOf(old)))
      throw status.forbidden(gpuNodeKind, name, 'only the API server may change status.identity');
  },
};
