import { rootCluster } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import { type AdmissionPlugin, isValidated } from '../../registry/admission.ts';
import type { Organizations } from '../organization.ts';
import { isSystem } from '../system-user.ts';
import { workspaces } from '../tree.ts';

export const mostWorkspacesPerOrganization = 20_000;

/** In milliseconds: an organization at its limit is counted again at most this often, to notice workspaces that were deleted. */
const countEvery = 5_000;
const mostRemembered = 1_000;

interface Counted {
  count: number;
  readonly at: number;
}

/** Limits how many workspaces an organization has. Several servers, or workspaces that are created at the same time, can exceed the limit slightly. */
export function workspaceCount(organizations: Organizations, limit = mostWorkspacesPerOrganization): AdmissionPlugin {
  const known = new BoundedMap<string, Counted>(mostRemembered);
  return {
    name: 'WorkspaceCount',
    validate(request) {
      const { cluster, user, now } = request.context;
      if (request.operation !== 'CREATE' || !isValidated(request, workspaces)) return;
      if (request.dryRun || cluster === rootCluster || isSystem(user) || organizations.total < limit) return;
      const organization = organizations.of(cluster);
      const time = now().getTime();
      let counted = known.get(organization);
      if (counted === undefined || (counted.count >= limit && Math.abs(time - counted.at) >= countEvery))
        known.set(organization, (counted = { count: organizations.count(organization), at: time }));
      if (counted.count >= limit) {
        throw forbidden(
          request,
          `the organization has ${counted.count} workspaces and its limit is ${limit}; delete some, or ask the platform operator for a higher limit`,
        );
      }
      counted.count++;
    },
  };
}
