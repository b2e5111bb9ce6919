import { fleetGroup, type GPUNode, gpuNodeKind, nodeAgentGroup } from '@capstan/api';
import { sameJson, status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../registry/admission.ts';

/** Agents report the state of their node, and their identity is in it: they must not change that. */
export const nodeIdentityAdmission: AdmissionPlugin = {
  name: 'capstan.dev/NodeIdentity',
  validate({ resource, object, old, name, context }) {
    if (resource.group !== fleetGroup || resource.resource !== gpuNodeKind.resource || object === undefined) return;
    if (!context.user.groups.includes(nodeAgentGroup)) return;
    const identityOf = (node: unknown): unknown => (node as GPUNode | undefined)?.status?.identity;
    if (!sameJson(identityOf(object), identityOf(old)))
      throw status.forbidden(gpuNodeKind, name, 'only the API server may change status.identity');
  },
};
