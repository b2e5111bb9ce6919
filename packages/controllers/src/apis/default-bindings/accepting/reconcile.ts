import type { ApiBinding, ApiExport, WorkspaceType } from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { done, type Result } from '@capstan/controller';
import { acceptedClaims, hasClaims } from '../accepted-claims.ts';
import { type ExportReference, exportsOf, type FindType, maintainedExports } from '../maintained.ts';

export interface ClaimActions {
  readonly types: { readonly list: () => readonly WorkspaceType[]; readonly find: FindType };
  readonly exportAt: (reference: ExportReference) => ApiExport | undefined;
  /** The type of the binding's workspace, as `path:name`; undefined if the workspace is gone. */
  readonly workspaceType: () => Promise<string | undefined>;
  readonly update: (binding: ApiBinding) => Promise<unknown>;
}

/** Accepts the claims of an export in a binding, if the type of its workspace maintains the binding. */
export async function reconcileClaims(binding: ApiBinding | undefined, actions: ClaimActions): Promise<Result> {
  const reference = binding?.spec?.reference?.export;
  if (binding === undefined || reference === undefined || binding.metadata.deletionTimestamp !== undefined) return done;
  const exported = actions.exportAt({ path: reference.path || (clusterOf(binding) ?? ''), name: reference.name });
  if (exported === undefined || hasClaims(binding, exported)) return done;
  const isExport = (one: ExportReference): boolean => actions.exportAt(one) === exported;
  // Most exports are maintained by no type, and need no request.
  if (!actions.types.list().some((type) => exportsOf(type).some(isExport))) return done;
  const type = await actions.workspaceType();
  if (type === undefined || !maintainedExports(type, actions.types.find).some(isExport)) return done;
  await actions.update({ ...binding, spec: { ...binding.spec, permissionClaims: acceptedClaims(exported) } });
  return done;
}
