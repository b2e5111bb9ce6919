import type { WorkspaceType } from '@capstan/api';
import { status } from '@capstan/machinery';
import { type AdmissionPlugin, isValidated } from '../../registry/admission.ts';
import { isSystem } from '../system-user.ts';
import { workspaceTypes } from '../types/workspace-types.ts';
import { type ExportAccess, mayBind, printReference } from './reference.ts';

/**
 * The platform creates the default bindings of a type for its users, so the author of the type needs permission to bind exports of other
 * workspaces.
 */
export function defaultBindingAdmission(access: ExportAccess): AdmissionPlugin {
  return {
    name: 'DefaultAPIBindings',
    validate(request) {
      if (!isValidated(request, workspaceTypes)) return;
      const { operation, object, old, resource, name, context } = request;
      if (object === undefined || operation === 'DELETE' || isSystem(context.user)) return;
      const had = new Set(namedIn(old).map(printReference));
      for (const reference of namedIn(object)) {
        if (had.has(printReference(reference))) continue;
        const cluster = reference.path === '' ? context.cluster : access.tree.resolve(reference.path);
        if (cluster === context.cluster) continue;
        if (cluster === undefined || !mayBind(access, context.user, { cluster, name: reference.name }))
          throw status.forbidden(resource, name, `no permission to bind to export ${printReference(reference)}`);
      }
    },
  };
}

function namedIn(type: WorkspaceType | undefined): { path: string; name: string }[] {
  return (type?.spec?.defaultAPIBindings ?? []).map(({ path = '', export: name }) => ({ path, name }));
}
