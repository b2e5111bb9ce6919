import { rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { sameJson } from '@capstan/machinery';
import type { CacheEvent } from '../cache/event-ring.ts';
import { clusterOf } from '../crds/definition.ts';
import type { Definitions } from '../crds/definitions.ts';
import { builtinService, definedService, managedLabel } from '../discovery/api-services.ts';
import type { Serving } from '../handlers/serving.ts';
import { deleteObject } from '../registry/delete.ts';
import type { Resource } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { coalesced } from '../upkeep/coalesced.ts';
import { makeMissing, systemContext } from './write.ts';

interface Options {
  readonly definitions: Definitions;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

type Services = ReadonlyMap<string, KubeObject>;

/**
 * Keeps one APIService per version of each group that this server serves itself. Those of built-in groups are created at startup and belong
 * to the users afterwards; those of custom resources follow their definitions. APIServices that users registered under the same name are
 * left alone.
 */
export async function keepApiServices(serving: Serving, { definitions, now, onError }: Options): Promise<void> {
  const resource = serving.catalog.resource('apiregistration.k8s.io', 'v1', 'apiservices')!;
  const builtin = builtinServices(serving);
  const settle = async (managed: string, wanted: Services): Promise<void> => {
    const found = new Map(serving.cache.list(resource, rootCluster).map((service) => [service.metadata.name!, service]));
    const missing = [...wanted].flatMap(([name, service]) => (found.has(name) ? [] : [service]));
    await Promise.all([
      makeMissing(serving, now, missing),
      ...[...found.values()]
        .filter(({ metadata }) => metadata.labels?.[managedLabel] === managed)
        .map((service) => correct(serving, { resource, service, wanted: wanted.get(service.metadata.name!), now })),
    ]);
  };
  await settle('onstart', builtin);
  const run = coalesced(() => settle('true', definedServices(definitions, builtin)));
  const look = (): void => void run().catch(onError);
  definitions.listen(({ now: current, before }) => {
    if (clusterOf((current ?? before!).entry) === rootCluster) look();
  });
  const changed = (events: readonly CacheEvent[]): void => {
    if (events.some(({ type }) => type !== 'ADDED')) look();
  };
  serving.cache.resource(resource.storage).listeners.add({ changed });
  look();
}

function builtinServices({ catalog }: Serving): Services {
  const services = [...catalog.groups.values()].flatMap(({ name, versions }) =>
    versions.flatMap(({ version }) => builtinService(name, version) ?? []),
  );
  return new Map(services.map((service) => [service.metadata.name!, service]));
}

function definedServices(definitions: Definitions, builtin: Services): Services {
  const services = new Map<string, KubeObject>();
  for (const { group, summary } of definitions.in(rootCluster)?.all() ?? []) {
    for (const { name, served } of summary.versions) {
      const service = definedService(group, name);
      if (served && !builtin.has(service.metadata.name!)) services.set(service.metadata.name!, service);
    }
  }
  return services;
}

interface Correction {
  readonly resource: Resource;
  readonly service: KubeObject;
  readonly wanted: KubeObject | undefined;
  readonly now: () => Date;
}

/** Deletes an APIService that is no longer wanted, and restores the spec of one that somebody changed. */
async function correct(serving: Serving, { resource, service, wanted, now }: Correction): Promise<void> {
  const context = systemContext(serving, now);
  const target = { resource, namespace: '', name: service.metadata.name! };
  try {
    if (wanted === undefined) await deleteObject(serving, context, { ...target, options: {}, dryRun: false });
    else if (!sameJson(service['spec'], wanted['spec']))
      await update(serving, context, {
        ...{ ...target, subresource: '', manager: 'kube-apiserver', dryRun: false },
        change: (old) => ({ object: { ...structuredClone(old), spec: structuredClone(wanted['spec']!) } as KubeObject }),
      });
  } catch (error) {
    // Another server deleted or wrote it in the meantime; that change triggers the next run.
    const reason = error instanceof Error && 'reason' in error ? error.reason : undefined;
    if (reason !== 'NotFound' && reason !== 'Conflict') throw error;
  }
}
