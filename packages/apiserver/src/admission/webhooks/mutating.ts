import { sameJson, status } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { Rounds } from '../../registry/reinvocation.ts';
import { isExempt, matchingResource } from '../matching/match.ts';
import { converted } from '../matching/versions.ts';
import { checkPlace, replaceContents } from '../patching/form.ts';
import { repairManagedFields } from '../patching/managed-fields.ts';
import { ruleCluster, unnaming } from '../source.ts';
import { ask } from './call.ts';
import { Configurations, mutatingConfigurations } from './configurations.ts';
import { CallFailure, denied, failedCalling } from './failure.ts';
import type { Hook } from './hook.ts';
import type { WebhookOptions } from './options.ts';
import { operationsOf, patchedBy } from './patch.ts';
import { named, type View, viewOf } from './review.ts';

const pluginName = 'MutatingAdmissionWebhook';
const auditPrefix = 'mutation.webhook.admission.k8s.io/';

/** Calls mutating webhooks, one after the other, each with the result of the previous one. */
export function mutatingWebhooks(options: WebhookOptions): AdmissionPlugin {
  const configurations = new Configurations(options.objects, mutatingConfigurations);
  return {
    name: pluginName,
    mutate(request) {
      const hooks = configurations.of(ruleCluster(request));
      if (hooks.length === 0 || isExempt(request)) return;
      // Only called webhooks change the object, so if none matches the original object, none ever will.
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
    this.#rounds = Rounds.of(request, pluginName);
  }

  async run(hooks: readonly Hook[]): Promise<void> {
    const { object, context } = this.#request;
    const rounds = this.#rounds;
    const managedBefore = object?.metadata.managedFields;
    rounds.begin(object);
    for (const [index, hook] of hooks.entries()) {
      const resource = matchingResource(hook.criteria, this.#request, this.#options.catalogs);
      if (resource === undefined) continue;
      const view = named(await viewOf(this.#request, resource));
      if (hook.conditions.length > 0 && !(await this.#options.meetsConditions(hook, view))) continue;
      if (!rounds.includes(hook.id)) continue;
      await this.#call(hook, view, index);
      if (hook.isReinvocable) rounds.askedOnce(hook.id);
    }
    if (object === undefined) return;
    if (object.metadata.managedFields !== managedBefore) repairManagedFields(object, managedBefore, context.warn);
    if (this.#request.reinvocation!.wanted) rounds.end(object);
  }

  async #call(hook: Hook, view: View, index: number): Promise<void> {
    const place = `round_${this.#rounds.isSecond ? 1 : 0}_index_${index}`;
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
    if (mutated) this.#rounds.changed();
  }

  /** Calls the webhook and applies its patch. True if it changed anything. */
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
    if (sameJson(patched, view.object)) return false;
    const own = unnaming(patched);
    const next = shape === undefined ? await converted(own, view.resource, resource) : own;
    if (shape === undefined) checkPlace(this.#request, next);
    replaceContents(object!, next);
    return true;
  }
}
