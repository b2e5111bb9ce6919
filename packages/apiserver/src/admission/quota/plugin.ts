import type { ClusterId } from '@capstan/api';
import { type KubeObject, workspaceQuotaNamespace } from '@capstan/machinery';
import type { Store } from '@capstan/store';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { Admission, type AdmissionPlugin, type AdmissionRequest } from '../../registry/admission.ts';
import type { RequestContext } from '../../registry/context.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { serverContext } from '../../upkeep/context.ts';
import { decide, type Running } from './decide.ts';
import { canDemand, concerns, type Demand, demandOf } from './demand.ts';
import { Ledger } from './ledger.ts';
import { type Limit, limitOf } from './limit.ts';

const manager = 'kube-apiserver';
const nothingRunning: Running = new Map();

export interface QuotaOptions {
  readonly cache: WatchCache;
  readonly store: Store;
  /** The resource for ResourceQuotas. */
  readonly quotas: Resource;
}

/** A group of quotas that are charged together: those of a namespace, either for the namespace itself or for the whole workspace. */
interface Place {
  readonly cluster: ClusterId;
  readonly namespace: string;
  readonly isForWorkspace: boolean;
}

/**
 * Rejects requests that exceed a quota of their namespace or workspace. Admitted requests are charged at once, so this must be the last
 * plugin that can reject a request.
 */
export function resourceQuota({ cache, store, quotas }: QuotaOptions): AdmissionPlugin {
  const held = cache.resource(quotas);
  const backend = { cache, store, admission: new Admission([]) };
  const ledgers = new Map<string, Ledger>();

  const limitsIn = ({ cluster, namespace, isForWorkspace }: Place): readonly Limit[] => {
    const found: Limit[] = [];
    // `0` is the character after `/`.
    held.entries.walk(`${cluster}/${namespace}/`, `${cluster}/${namespace}0`, ({ key }) => {
      const entry = held.newest(key);
      const limit = entry && limitOf(entry);
      if (limit?.isForWorkspace === isForWorkspace) found.push(limit);
      return true;
    });
    return found;
  };

  const ledgerOf = (place: Place, { objects, now }: RequestContext): Ledger => {
    const { cluster, namespace, isForWorkspace } = place;
    const key = isForWorkspace ? cluster : `${cluster}/${namespace}`;
    let ledger = ledgers.get(key);
    if (ledger === undefined) {
      // The server itself writes the quotas, whoever made the request.
      const context = serverContext({ cluster, objects, now });
      const write = async (name: string, change: (quota: KubeObject) => KubeObject): Promise<void> => {
        await update(backend, context, {
          ...{ resource: quotas, namespace, name, subresource: 'status', manager, dryRun: false, admits: 'none' },
          change: (old) => ({ object: change(old) }),
        });
      };
      ledger = new Ledger({ read: () => limitsIn(place), write }, () => ledgers.delete(key));
      ledgers.set(key, ledger);
    }
    return ledger;
  };

  const charge = async (request: AdmissionRequest, places: readonly Place[]): Promise<void> => {
    const { context, dryRun } = request;
    const demand = demandOf(request);
    const meant = places.filter((place) => limitsIn(place).some((limit) => concerns(limit, demand)));
    // Check all quotas before charging any. If a later one rejects the request anyway, the quota controller corrects the first.
    if (dryRun || meant.length > 1) for (const place of meant) ask(demand, limitsIn(place));
    if (!dryRun) for (const place of meant) await ledgerOf(place, context).charge(demand);
  };

  return {
    name: 'ResourceQuota',
    validate(request) {
      if (held.entries.size === 0 || !canDemand(request)) return;
      const places = placesOf(request).filter((place) => limitsIn(place).length > 0);
      return places.length === 0 ? undefined : charge(request, places);
    },
  };
}

function placesOf({ resource, namespace, context: { cluster } }: AdmissionRequest): Place[] {
  const places = [{ cluster, namespace: workspaceQuotaNamespace, isForWorkspace: true }];
  if (resource.namespaced) places.push({ cluster, namespace, isForWorkspace: false });
  return places;
}

function ask(demand: Demand, limits: readonly Limit[]): void {
  const decision = decide(demand, limits, nothingRunning);
  if (decision.type === 'refused') throw decision.error;
}
