import { rootCluster } from '@capstan/api';
import { type Fields, fieldsOf, itemsOf, textOf } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import type { AdmissionPlugin } from '../../registry/admission.ts';
import { workspaceTypes } from '../types/workspace-types.ts';

/** References to other types need a path, because a type can be used from anywhere. */
export const workspaceTypeRules: AdmissionPlugin = {
  name: 'WorkspaceType',
  validate(request) {
    const { resource, operation, object, context } = request;
    if (resource.resource !== workspaceTypes.resource || resource.group !== workspaceTypes.group) return;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return;
    if (object!.metadata.name === 'root' && context.cluster !== rootCluster)
      throw forbidden(request, 'root workspace type can only be created in root cluster');
    const why = incompleteReference(fieldsOf(object!['spec']));
    if (why !== undefined) throw forbidden(request, why);
  },
};

function incompleteReference(spec: Readonly<Fields>): string | undefined {
  const child = spec['defaultChildWorkspaceType'];
  if (child !== undefined && textOf(fieldsOf(child)['path']) === '') return '.spec.defaultChildWorkspaceType.path must be set';
  for (const field of ['limitAllowedChildren', 'limitAllowedParents']) {
    const index = itemsOf(fieldsOf(spec[field])['types']).findIndex(({ path }) => textOf(path) === '');
    if (index >= 0) return `.spec.${field}.types[${index}].path must be set`;
  }
  return undefined;
}
