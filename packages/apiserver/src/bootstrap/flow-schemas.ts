import { rootCluster } from '@capstan/api';
import { applyPatch, type KubeObject } from '@capstan/machinery';
import type { Serving } from '../handlers/serving.ts';
import { resetFieldsOf } from '../registry/reset-fields.ts';
import type { Resource } from '../registry/resource.ts';
import { type Changed, update } from '../registry/update.ts';
import { coalesced } from '../upkeep/coalesced.ts';
import { systemContext } from './write.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const manager = 'api-priority-and-fairness-config-consumer-v1';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Reports in every FlowSchema whether its priority level exists, now and whenever either of them changes. */
export function keepFlowSchemaStatus(serving: Serving, now: () => Date, onError: (error: unknown) => void): void {
  const schemas = serving.catalog.resource(group, 'v1', 'flowschemas')!;
  const levels = serving.catalog.resource(group, 'v1', 'prioritylevelconfigurations')!;
  const run = coalesced(async () => {
    const known = new Set(serving.cache.list(levels, rootCluster).map(({ metadata }) => metadata.name));
    const stale = serving.cache.list(schemas, rootCluster).flatMap((schema) => {
      const wanted = dangling(levelOf(schema), known.has(levelOf(schema)));
      return isSaid(schema, wanted) ? [] : [{ name: schema.metadata.name!, wanted }];
    });
    await Promise.all(stale.map(({ name, wanted }) => say(serving, schemas, { name, wanted, now })));
  });
  const listener = { changed: () => void run().catch(onError) };
  serving.cache.resource(schemas).listeners.add(listener);
  serving.cache.resource(levels).listeners.add(listener);
  listener.changed();
}

async function say(serving: Serving, resource: Resource, what: { name: string; wanted: Condition; now: () => Date }): Promise<void> {
  const { name, wanted, now } = what;
  const condition = { ...wanted, lastTransitionTime: `${now().toISOString().slice(0, 19)}Z` };
  try {
    await update(serving, systemContext(serving, now), {
      ...{ resource, namespace: '', name, subresource: 'status', manager, dryRun: false },
      change: (old) => applied(old, { resource, condition, now: now() }),
    });
  } catch (error) {
    // Another server deleted or wrote it in the meantime; that change triggers the next run.
    const reason = error instanceof Error && 'reason' in error ? error.reason : undefined;
    if (reason !== 'NotFound' && reason !== 'Conflict') throw error;
  }
}

/** The server applies only this condition; others may add their own. */
function applied(live: KubeObject, { resource, condition, now }: { resource: Resource; condition: Condition; now: Date }): Changed {
  const { groupVersion: apiVersion, kind, type } = resource;
  const config = { apiVersion, kind, metadata: { name: live.metadata.name! }, status: { conditions: [condition] } };
  const resetFields = resetFieldsOf(resource, 'status');
  const options = { live, config, type, kind, manager, force: true, apiVersion, subresource: 'status', now, resetFields };
  return { object: applyPatch(options).object, applied: true };
}

function dangling(level: string, found: boolean): Condition {
  const named = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return found
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${named} and it exists` }
    : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${named} but there is no such object` };
}

function isSaid(schema: KubeObject, { type, status, reason, message }: Condition): boolean {
  return conditionsOf(schema).some(
    (said) => said.type === type && said.status === status && said.reason === reason && said.message === message,
  );
}

function levelOf(schema: KubeObject): string {
  return (schema['spec'] as { priorityLevelConfiguration: { name: string } }).priorityLevelConfiguration.name;
}

function conditionsOf(schema: KubeObject): readonly Condition[] {
  return (schema['status'] as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [];
}
