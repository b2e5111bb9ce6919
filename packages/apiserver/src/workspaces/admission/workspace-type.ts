import { rootCluster, type WorkspaceType } from '@capstan/api';
import { forbidden } from '../../admission/forbidden.ts';
import { type AdmissionPlugin, isValidated } from '../../registry/admission.ts';
import { workspaceTypes } from '../types/workspace-types.ts';

/** References to other types need a path, because a type can be used from anywhere. */
export const workspaceTypeRules: AdmissionPlugin = {
  name: 'WorkspaceType',
  validate(request) {
    if (!isValidated(request, workspaceTypes)) return;
    const { operation, object, context } = request;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return;
    if (object!.metadata.name === 'root' && context.cluster !== rootCluster)
      throw forbidden(request, 'root workspace type can only be created in root cluster');
    const why = incompleteReference(object!);
    if (why !== undefined) throw forbidden(request, why);
  },
};

function incompleteReference({ spec = {} }: WorkspaceType): string | undefined {
  const child = spec.defaultChildWorkspaceType;
  if (child !== undefined && !child.path) return '.spec.defaultChildWorkspaceType.path must be set';
  for (const field of ['limitAllowedChildren', 'limitAllowedParents'] as const) {
    const index = (spec[field]?.types ?? []).findIndex(({ path }) => !path);
    if (index >= 0) return `.spec.${field}.types[${index}].path must be set`;
  }
  return undefined;
}
