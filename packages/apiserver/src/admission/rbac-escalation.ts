import { checkNoEscalation, type EscalationRules } from '../authz/escalation.ts';
import { rbacGroup } from '../authz/resolver.ts';
import type { AdmissionPlugin } from '../registry/admission.ts';

type RoleResource = Parameters<typeof checkNoEscalation>[0]['resource'];
const resources = new Set(['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings']);

/** Rejects roles and bindings that grant permissions which their writer does not hold. */
export function rbacEscalation(rules: EscalationRules): AdmissionPlugin {
  return {
    name: 'RBACEscalation',
    mutate({ operation, resource, namespace, object, old, context }) {
      if (resource.group !== rbacGroup || object === undefined || operation === 'DELETE' || !resources.has(resource.resource)) return;
      checkNoEscalation(
        {
          cluster: context.cluster,
          user: context.user,
          resource: resource.resource as RoleResource,
          namespace,
          requestName: context.info.name,
          object,
          old,
        },
        rules,
      );
    },
  };
}
