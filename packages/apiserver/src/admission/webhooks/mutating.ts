import { type KubeObject, status } from '@capstan/machinery';
import { deepEqual } from '../../registry/metadata.ts';
import type { AdmissionPlugin, AdmissionRequest, Reinvocation } from '../admission.ts';
import { isExempt, matchingResource } from '../matching/match.ts';
import { converted } from '../matching/versions.ts';
import { ask } from './call.ts';
import { Configurations } from './configurations.ts';
import { CallFailure, denied, failedCalling } from './failure.ts';
import type { Hook } from './hook.ts';
import { repairManagedFields } from './managed-fields.ts';
import type { WebhookOptions } from './options.ts';
import { operationsOf, patchedBy, replaceContents } from './patch.ts';
import { type View, viewOf } from './review.ts';

const auditPrefix = 'mutation.webhook.admission.k8s.io/';

/** Which webhooks look again at an object, and what it was when they had all seen it. */
interface Rounds extends Reinvocation {
  readonly asked: Set<string>;
  readonly again: Set<string>;
  seen: KubeObject | undefined;
}

/** Webhooks that may change what is written. They are called one after the other, each with what the one before made of the object. */
export function mutatingWebhooks(options: WebhookOptions): AdmissionPlugin {
  const configurations = new Configurations(options.objects, 'mutatingwebhookconfigurations');
  return {
    name: 'MutatingAdmissionWebhook',
    mutate(request) {
      const hooks = configurations.of(request.context.cluster);
      if (hooks.length === 0 || isExempt(request.resource)) return;
      // Only those who are asked change the object: when nobody is concerned by it as it is, nobody will be.
      const isAsked = hooks.some(({ criteria }) => matchingResource(criteria, request, options.catalogs) !== undefined);
      if (isAsked) return new MutatingRound(options, request).run(hooks);
    },
  };
}

class MutatingRound {
  readonly #options: WebhookOptions;
  readonly #request: AdmissionRequest;
  readonly #rounds: Rounds;

  constructor(options: WebhookOptions, request: AdmissionRequest) {
    this.#options = options;
    this.#request = request;
    this.#rounds = (request.reinvocation as Rounds | undefined) ?? newRounds();
    request.reinvocation = this.#rounds;
  }

  async run(hooks: readonly Hook[]): Promise<void> {
    const { object, context } = this.#request;
    const rounds = this.#rounds;
    const managedBefore = object?.metadata.managedFields;
    if (rounds.isSecondRound && !deepEqual(rounds.seen, object)) this.#callAgain();
    for (const [index, hook] of hooks.entries()) {
      const resource = matchingResource(hook.criteria, this.#request, this.#options.catalogs);
      if (resource === undefined) continue;
      const view = await viewOf(this.#request, resource);
      if (hook.conditions.length > 0 && !this.#options.meetsConditions(hook, view)) continue;
      // Who was not asked in the first round is not asked in the second, even if it would be now.
      if (rounds.isSecondRound && !rounds.again.has(hook.id)) continue;
      await this.#call(hook, view, index);
      if (hook.isReinvocable) rounds.asked.add(hook.id);
    }
    if (object === undefined) return;
    if (object.metadata.managedFields !== managedBefore) repairManagedFields(object, managedBefore, context.warn);
    if (rounds.wanted && rounds.asked.size + rounds.again.size > 0) rounds.seen = structuredClone(object);
  }

  async #call(hook: Hook, view: View, index: number): Promise<void> {
    const place = `round_${this.#rounds.isSecondRound ? 1 : 0}_index_${index}`;
    const { context } = this.#request;
    let mutated = false;
    try {
      mutated = await this.#mutate(hook, view);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (hook.failurePolicy === 'Fail') throw failedCalling(hook.name, error);
      context.annotate(`failed-open.${auditPrefix}${place}`, hook.name);
    }
    context.annotate(`${auditPrefix}${place}`, JSON.stringify({ configuration: hook.configuration, webhook: hook.name, mutated }));
    if (!mutated) return;
    this.#callAgain();
    this.#rounds.wanted = true;
  }

  /** Everybody who can be asked again and was asked before this moment. */
  #callAgain(): void {
    for (const id of this.#rounds.asked) this.#rounds.again.add(id);
    this.#rounds.asked.clear();
  }

  /** Asks the webhook, and makes its changes. True when there were any. */
  async #mutate(hook: Hook, view: View): Promise<boolean> {
    const verdict = await ask(this.#options.client, hook, { view, mutating: true });
    if (!verdict.allowed) throw denied(hook.name, verdict.result);
    if (verdict.patch === '') return false;
    const operations = operationsOf(verdict.patch);
    if (operations.length === 0) return false;
    if (view.object === undefined) {
      const what = `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object`;
      throw status.internalError(`${what}, which is not supported for this operation`);
    }
    if (verdict.patchType !== 'JSONPatch') throw new CallFailure(`unsupported patch type ${JSON.stringify(verdict.patchType)}`);
    const { resource, shape, object } = this.#request;
    const patched = patchedBy(operations, view.object, { resource: view.resource, shape });
    if (deepEqual(patched, view.object)) return false;
    const next = shape === undefined ? await converted(patched, view.resource, resource) : patched;
    if (shape === undefined) checkPlace(this.#request, next);
    replaceContents(object!, next);
    return true;
  }
}

/** A webhook cannot move an object into another namespace. */
function checkPlace({ resource, namespace }: AdmissionRequest, { metadata }: KubeObject): void {
  if (!resource.namespaced) delete metadata.namespace;
  else if (metadata.namespace === undefined || metadata.namespace === '') metadata.namespace = namespace;
  else if (metadata.namespace !== namespace)
    throw status.badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

function newRounds(): Rounds {
  return { wanted: false, isSecondRound: false, asked: new Set(), again: new Set(), seen: undefined };
}
