import { done, type Result } from '@capstan/controller';
import { type JsonObject, type KubeObject, staleAggregations } from '@capstan/machinery';

export interface AggregationActions {
  /** Writes the fields of the object that it names, and no others. */
  readonly apply: (role: KubeObject) => Promise<unknown>;
}

/** Applies the rules of all aggregated ClusterRoles of a workspace that differ from the roles that they select. */
export async function reconcileRoles(roles: readonly KubeObject[], { apply }: AggregationActions): Promise<Result> {
  for (const { role, rules } of staleAggregations(roles)) {
    const { apiVersion, kind, metadata } = role;
    await apply({ apiVersion, kind, metadata: { name: metadata.name! }, rules: rules as JsonObject[] });
  }
  return done;
}
