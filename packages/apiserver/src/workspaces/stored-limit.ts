import { rootCluster, superuserGroup } from '@capstan/api';
import { BoundedMap, type StatusError } from '@capstan/machinery';
import { forbidden } from '../admission/forbidden.ts';
import type { StoredSizes } from '../cache/stored-sizes.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../registry/admission.ts';
import { isPlatformAccount } from './authorizer.ts';
import type { Organizations } from './organization.ts';

/** In characters of JSON. */
export interface StoredLimits {
  readonly perWorkspace: number;
  readonly perOrganization: number;
}

/** The server keeps all objects in memory. */
const usualLimits: StoredLimits = { perWorkspace: 256 << 20, perOrganization: 1 << 30 };

/** An organization is counted again when all workspaces together have grown by this part of what it has left, but not before they have grown by the minimum. */
const growth = { part: 1 / 4, minimum: 1 << 20 };
/** In milliseconds: an organization at its limit is counted again at most this often, to notice objects that were deleted. */
const countEvery = 1_000;
const mostRemembered = 1_000;

interface Counted {
  readonly size: number;
  readonly at: number;
  /** Until this, the count is good enough. */
  readonly grown: number;
}

export interface StoredLimitOptions {
  readonly sizes: StoredSizes;
  readonly organizations: Pick<Organizations, 'of'>;
  readonly limits?: Partial<StoredLimits> | undefined;
}

/**
 * Limits how much the objects of a workspace, and of an organization, hold together. Beyond the limit, objects can be deleted and made
 * shorter. Writes at the same time can exceed it slightly: their sizes are not known before they are stored.
 */
export function storedLimit({ sizes, organizations, limits }: StoredLimitOptions): AdmissionPlugin {
  const { perWorkspace, perOrganization } = { ...usualLimits, ...limits };
  const known = new BoundedMap<string, Counted>(mostRemembered);

  function count(organization: string): number {
    let total = 0;
    for (const [cluster, size] of sizes.all()) if (organizations.of(cluster) === organization) total += size;
    return total;
  }

  function sizeOf(organization: string, now: number): number {
    const counted = known.get(organization);
    const isFull = counted !== undefined && counted.size >= perOrganization;
    if (counted !== undefined && (isFull ? Math.abs(now - counted.at) < countEvery : sizes.grown < counted.grown)) return counted.size;
    const size = count(organization);
    const grown = sizes.grown + Math.max(growth.minimum, (perOrganization - size) * growth.part);
    known.set(organization, { size, at: now, grown });
    return size;
  }

  return {
    name: 'WorkspaceStoredLimit',
    validate(request) {
      const { operation, subresource, dryRun, resource, context } = request;
      const { cluster, user } = context;
      // Tokens, evictions and the like store nothing of their own.
      if (operation === 'CREATE' && subresource !== '') return;
      if (operation === 'DELETE' || dryRun || resource.virtual || cluster === rootCluster) return;
      if (user.groups.includes(superuserGroup) || isPlatformAccount(user)) return;
      const inside = sizes.of(cluster);
      if (inside >= perWorkspace && grows(request)) throw full(request, 'workspace', { size: inside, limit: perWorkspace });
      const together = sizeOf(organizations.of(cluster), context.now().getTime());
      if (together >= perOrganization && grows(request)) throw full(request, 'organization', { size: together, limit: perOrganization });
    },
  };
}

/** Only asked when there is no room: it reads the whole object. */
function grows({ object, old }: AdmissionRequest): boolean {
  return object !== undefined && (old === undefined || JSON.stringify(object).length > JSON.stringify(old).length);
}

function full(request: AdmissionRequest, what: string, { size, limit }: { readonly size: number; readonly limit: number }): StatusError {
  const mebibytes = (characters: number): string => `${Math.round((characters / 2 ** 20) * 10) / 10} MiB`;
  return forbidden(
    request,
    `the objects of the ${what} have ${mebibytes(size)} and the limit is ${mebibytes(limit)}; delete some, or ask the platform operator for a higher limit`,
  );
}
