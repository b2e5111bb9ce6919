import type { Registration } from '../registration.ts';
import { RoleAggregation } from './controller.ts';

/** Writes the rules of aggregated ClusterRoles. */
export const registration: Registration = {
  name: 'role-aggregation',
  account: 'clusterrole-aggregation-controller',
  workspaces: 'all',
  watches: ['clusterroles.rbac.authorization.k8s.io'],
  make: () => new RoleAggregation(),
};
