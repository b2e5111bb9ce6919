import {
  type ApiBinding,
  type ApiExport,
  holds,
  isTrue,
  type LogicalCluster,
  lacks,
  type NewCondition,
  typeAnnotation,
  withConditions,
} from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { done, type Result } from '@capstan/controller';
import { acceptedClaims } from '../accepted-claims.ts';
import { type ExportReference, type FindType, maintainedExports } from '../maintained.ts';
import { bindingName } from '../names.ts';

/** The actions available to the steps, in one workspace. */
export interface DefaultBindingActions {
  readonly findType: FindType;
  readonly exportAt: (reference: ExportReference) => ApiExport | undefined;
  /** The workspace's binding to an export. */
  readonly bindingTo: (exported: ApiExport) => ApiBinding | undefined;
  /** Does nothing if it exists. */
  readonly create: (binding: ApiBinding) => Promise<unknown>;
  readonly updateStatus: (workspace: LogicalCluster) => Promise<unknown>;
  readonly now: () => Date;
}

/** Creates the bindings that a workspace lacks and its type maintains, and reports whether all of them are complete. */
export async function reconcileDefaultBindings(workspace: LogicalCluster, actions: DefaultBindingActions): Promise<Result> {
  const { metadata, status } = workspace;
  if (status?.phase !== 'Ready' || metadata.deletionTimestamp !== undefined) return done;
  const wanted = maintainedExports(metadata.annotations?.[typeAnnotation] ?? '', actions.findType);
  await createMissing(clusterOf(workspace) ?? '', wanted, actions);
  if (wanted.length === 0) return done;
  const conditions = withConditions(status.conditions, [conditionOf(wanted, actions)], actions.now());
  if (conditions !== status.conditions) await actions.updateStatus({ ...workspace, status: { ...status, conditions } });
  return done;
}

async function createMissing(cluster: string, wanted: readonly ExportReference[], actions: DefaultBindingActions): Promise<void> {
  for (const reference of wanted) {
    const exported = actions.exportAt(reference);
    if (exported === undefined || actions.bindingTo(exported) !== undefined) continue;
    await actions.create(bindingFor(cluster, reference, exported));
  }
}

/** Whether all maintained bindings are complete, in kcp's words. */
function conditionOf(wanted: readonly ExportReference[], { exportAt, bindingTo }: DefaultBindingActions): NewCondition {
  const incomplete = wanted.flatMap((reference) => {
    const exported = exportAt(reference);
    const binding = exported && bindingTo(exported);
    if (binding === undefined) return [`for APIExport ${reference.path}|${reference.name}`];
    return isTrue(binding.status?.conditions, 'InitialBindingCompleted') ? [] : [binding.metadata.name ?? ''];
  });
  if (incomplete.length === 0) return holds('APIBindingsReconciled');
  const message = `APIBinding(s) not yet fully reconciled: ${incomplete.sort().join(', ')}`;
  return lacks('APIBindingsReconciled', { severity: 'Info', reason: 'WaitingOnAPIBindings', message });
}

function bindingFor(cluster: string, reference: ExportReference, exported: ApiExport): ApiBinding {
  const claims = acceptedClaims(exported);
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: bindingName(cluster, reference) },
    spec: { reference: { export: { ...reference } }, ...(claims.length > 0 && { permissionClaims: claims }) },
  };
}
