import type { KubeObject } from '@capstan/machinery';
import type { Store } from '@capstan/store';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { RequestContext } from '../../registry/context.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { Admission, type AdmissionPlugin, type AdmissionRequest } from '../admission.ts';
import { decide, type Running } from './decide.ts';
import { canDemand, concerns, demandOf } from './demand.ts';
import { Ledger } from './ledger.ts';
import { type Limit, limitOf } from './limit.ts';

const manager = 'kube-apiserver';
const nothingRunning: Running = new Map();

export interface QuotaOptions {
  readonly cache: WatchCache;
  readonly store: Store;
  /** What serves ResourceQuotas. */
  readonly quotas: Resource;
}

/** Nothing is admitted that exceeds a quota of its namespace. What is admitted is charged first, so it comes after all who may refuse. */
export function resourceQuota({ cache, store, quotas }: QuotaOptions): AdmissionPlugin {
  const held = cache.resource(quotas);
  const backend = { cache, store, admission: new Admission([]) };
  const ledgers = new Map<string, Ledger>();

  const limitsIn = (place: string): readonly Limit[] => {
    const found: Limit[] = [];
    // A zero is what comes after a slash.
    held.entries.walk(place, `${place.slice(0, -1)}0`, ({ key }) => {
      const entry = held.newest(key);
      if (entry !== undefined) found.push(limitOf(entry));
      return true;
    });
    return found;
  };

  const ledgerOf = (place: string, { context, namespace }: AdmissionRequest): Ledger => {
    let ledger = ledgers.get(place);
    if (ledger === undefined) {
      const system = systemContext(context);
      const write = async (name: string, change: (quota: KubeObject) => KubeObject): Promise<void> => {
        await update(backend, system, {
          ...{ resource: quotas, namespace, name, subresource: 'status', manager, dryRun: false, admits: 'none' },
          change: (old) => ({ object: change(old) }),
        });
      };
      ledger = new Ledger({ read: () => limitsIn(place), write }, () => ledgers.delete(place));
      ledgers.set(place, ledger);
    }
    return ledger;
  };

  return {
    name: 'ResourceQuota',
    validate(request) {
      if (held.entries.size === 0 || !canDemand(request)) return;
      const place = `${request.context.cluster}/${request.namespace}/`;
      const limits = limitsIn(place);
      if (limits.length === 0) return;
      const demand = demandOf(request);
      if (!limits.some((limit) => concerns(limit, demand))) return;
      if (!request.dryRun) return ledgerOf(place, request).charge(demand);
      const decision = decide(demand, limits, nothingRunning);
      if (decision.type === 'refused') throw decision.error;
    },
  };
}

/** Quotas are charged by the server itself, whoever asked. */
function systemContext({ info, objects, now }: RequestContext): RequestContext {
  return new RequestContext({ info, objects, now, user: { name: 'system:apiserver', groups: ['system:masters'] }, userAgent: manager });
}
