import { type Fields, fieldsOf, formatTime, itemsOf, type KubeObject } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { Backend } from '../../registry/objects.ts';
import { type Held, printHeld, type Quarantine, QuarantineClaims } from '../../registry/quarantine.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { serverContext } from '../../upkeep/context.ts';
import { Turns } from '../../upkeep/turns.ts';
import { evaluatedPolicy } from './policy.ts';
import { type ExpressionWarning, typeWarnings } from './type-check.ts';

export interface PolicyKeeperOptions {
  readonly backend: Backend;
  readonly catalogs: Catalogs;
  readonly now: () => Date;
  readonly quarantine: Quarantine;
  readonly onError: (error: unknown) => void;
}

const manager = 'validatingadmissionpolicy-status-controller';

/** Writes type-checking warnings to the status of every policy, once per generation. */
export class PolicyKeeper implements Disposable {
  readonly #options: PolicyKeeperOptions;
  readonly #resource: Resource;
  readonly #turns: Turns<string>;
  readonly #claims = new QuarantineClaims();

  constructor(options: PolicyKeeperOptions) {
    this.#options = options;
    this.#turns = new Turns({ work: (key) => this.#check(key), onError: options.onError });
    this.#resource = options.catalogs.builtin.resource('admissionregistration.k8s.io', 'v1', 'validatingadmissionpolicies')!;
    const held = options.backend.cache.resource(this.#resource);
    held.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type !== 'DELETED') this.#turns.ask(entry.key);
      },
    });
    held.entries.walk('', '\uffff', (entry: CacheEntry) => {
      if (entry.text.includes(quarantinedType)) this.#claims.set(entry.key, true);
      this.#turns.ask(entry.key);
      return true;
    });
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]();
  }

  /** Whether the status does not say yet what is known about the policy. */
  #isDue(key: string, policy: KubeObject): boolean {
    const says = conditionsOf(policy).some(isQuarantined);
    return isUnchecked(policy) || this.#claims.isDue(key, { says, knows: this.#heldOf(policy) !== undefined });
  }

  #heldOf(policy: KubeObject): Held | undefined {
    return this.#options.quarantine.held(evaluatedPolicy(policy).identity);
  }

  async #check(key: string): Promise<void> {
    const { backend, catalogs, now } = this.#options;
    const current = backend.cache.resource(this.#resource).entries.get(key)?.object;
    if (current === undefined || !this.#isDue(key, current)) return;
    const [, , name = ''] = key.split('/');
    const cluster = clusterOfKey(key);
    const context = serverContext({ cluster, objects: backend.cache, now, userAgent: manager });
    let held: Held | undefined;
    await update(backend, context, {
      resource: this.#resource,
      namespace: '',
      name,
      subresource: 'status',
      manager,
      dryRun: false,
      change: async (policy) => {
        held = this.#heldOf(policy);
        if (!this.#isDue(key, policy)) return { object: policy };
        const warnings = await context.pace().run(typeWarnings(policy, catalogs.of(cluster)));
        return { object: checked(policy, warnings, { held, now: now() }) };
      },
    });
    this.#claims.set(key, held !== undefined);
  }
}

function conditionsOf(policy: KubeObject): readonly Fields[] {
  return itemsOf(fieldsOf(policy['status'])['conditions']);
}

const isQuarantined = ({ type, status }: Fields): boolean => type === quarantinedType && status === 'True';

function isUnchecked(policy: KubeObject): boolean {
  return fieldsOf(policy['status'])['observedGeneration'] !== policy.metadata.generation;
}

function checked(
  policy: KubeObject,
  warnings: readonly ExpressionWarning[],
  { held, now }: { readonly held: Held | undefined; readonly now: Date },
): KubeObject {
  const others = conditionsOf(policy).filter(({ type }) => type !== quarantinedType);
  const all = held === undefined ? others : [...others, quarantinedCondition(policy, held, now)];
  const conditions = all.length > 0 || conditionsOf(policy).length > 0 ? { conditions: all } : {};
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
  return {
    ...policy,
    status: { ...fieldsOf(policy['status']), observedGeneration: policy.metadata.generation, typeChecking, ...conditions },
  };
}

const quarantinedType = 'Quarantined';

function quarantinedCondition(policy: KubeObject, held: Held, now: Date): object {
  return {
    type: quarantinedType,
    status: 'True',
    observedGeneration: policy.metadata.generation,
    lastTransitionTime: formatTime(now),
    reason: 'ServerStoppedDuringEvaluation',
    message: printHeld(held),
  };
}
