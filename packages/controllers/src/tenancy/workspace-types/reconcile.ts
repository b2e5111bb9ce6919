import { holds, type Shard, type WorkspaceType, withConditions } from '@capstan/api';
import { sameJson } from '@capstan/machinery';

/** The type with the addresses at which initializers and terminators find its workspaces; undefined if it has them already. */
export function withAddresses(
  type: WorkspaceType,
  context: { cluster: string; shards: readonly Shard[]; now: Date },
): WorkspaceType | undefined {
  const name = `${context.cluster}:${type.metadata.name}`;
  const bases = context.shards.map(({ spec }) => spec?.virtualWorkspaceURL).filter((url) => url !== undefined);
  const virtualWorkspaces = bases.flatMap((base) => [
    { url: `${base}/services/initializingworkspaces/${name}`, type: 'initializing' },
    { url: `${base}/services/terminatingworkspaces/${name}`, type: 'terminating' },
  ]);
  const conditions = withConditions(type.status?.conditions, [holds('VirtualWorkspaceURLsReady'), holds('Ready')], context.now);
  const status = { ...type.status, conditions, ...(virtualWorkspaces.length > 0 && { virtualWorkspaces }) };
  return sameJson(status, type.status) ? undefined : { ...type, status };
}
