import { type KubeObject, type Parts, StatusError, sameJson } from '@capstan/machinery';
import type { Authorizer } from '../../../authz/attributes.ts';
import { settledInParts } from '../../../authz/settled.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../../registry/admission.ts';
import type { Pace } from '../../../registry/pace.ts';
import { Rounds } from '../../../registry/reinvocation.ts';
import type { Resource } from '../../../registry/resource.ts';
import { bindingsOf } from '../../expressions/bindings.ts';
import { meets } from '../../expressions/conditions.ts';
import { costOfConditions, costOfValidations, Evaluation } from '../../expressions/evaluation.ts';
import { forbidden } from '../../forbidden.ts';
import { matchingResource } from '../../matching/match.ts';
import { converted } from '../../matching/versions.ts';
import { checkPlace, type Form, replaceContents } from '../../patching/form.ts';
import { repairManagedFields } from '../../patching/managed-fields.ts';
import { ruleCluster } from '../../source.ts';
import { type View, viewOf } from '../../webhooks/review.ts';
import { Misconfigured, paramResource, paramsOf, refuseHeld } from '../params.ts';
import { type Concerned, concernedBy, Policies, type PolicyOptions } from '../policies.ts';
import type { PolicyBinding } from '../policy.ts';
import { FailedMutation, mutated } from './mutate.ts';
import { type MutatingPolicy, mutatingPolicyOf } from './policy.ts';

const pluginName = 'MutatingAdmissionPolicy';

/** Applies MutatingAdmissionPolicies. Deletions are not mutated. */
export function mutatingPolicies(options: PolicyOptions): AdmissionPlugin {
  const policies = new Policies(options.objects, {
    policies: 'mutatingadmissionpolicies',
    bindings: 'mutatingadmissionpolicybindings',
    compile: mutatingPolicyOf,
  });
  return {
    name: pluginName,
    mutate(request) {
      if (request.operation === 'DELETE') return;
      const concerned = concernedBy(policies, request, options.catalogs);
      if (concerned.length > 0) return new MutatingRound(options, request).run(concerned);
    },
  };
}

/** A policy to evaluate, with one binding and one parameter object. */
interface Invocation {
  readonly id: string;
  readonly policy: MutatingPolicy;
  readonly binding: PolicyBinding;
  readonly resource: Resource;
  readonly param: KubeObject | null;
}

interface Mutated {
  readonly object: KubeObject;
  readonly failures: readonly string[];
}

interface Denial {
  readonly message: string;
  readonly reason: 'Forbidden' | 'Invalid';
}

/** Applies all policies to one request. The matching policies are determined before anything changes. */
class MutatingRound {
  readonly #options: PolicyOptions;
  readonly #request: AdmissionRequest;
  readonly #rounds: Rounds;
  readonly #pace: Pace;
  readonly #denials: Denial[] = [];

  constructor(options: PolicyOptions, request: AdmissionRequest) {
    this.#options = options;
    this.#request = request;
    this.#rounds = Rounds.of(request, pluginName);
    this.#pace = request.context.pace();
  }

  async run(policies: readonly Concerned<MutatingPolicy>[]): Promise<void> {
    const { object, context } = this.#request;
    const managedBefore = object?.metadata.managedFields;
    const invocations: Invocation[] = [];
    for (const concerned of policies) await this.#invocationsOf(concerned, invocations);
    this.#rounds.begin(object);
    let isDirty = false;
    for (const invocation of invocations) isDirty = (await this.#invoke(invocation)) || isDirty;
    // As in Kubernetes, a policy that made a mutation may be reinvoked, even if the mutation changed nothing.
    if (isDirty) this.#rounds.changed();
    const [first] = this.#denials;
    if (first !== undefined) throw this.#refusal(first);
    if (object === undefined) return;
    if (object.metadata.managedFields !== managedBefore) repairManagedFields(object, managedBefore, context.warn);
    this.#rounds.end(object);
  }

  async #invocationsOf({ policy, bindings, resource }: Concerned<MutatingPolicy>, into: Invocation[]): Promise<void> {
    const { catalogs } = this.#options;
    const request = this.#request;
    let params: Resource | undefined;
    try {
      refuseHeld(policy, this.#options.quarantine);
      params = paramResource(policy, catalogs.of(ruleCluster(request)));
    } catch (error) {
      return this.#misconfigured(error, policy, undefined);
    }
    for (const binding of bindings) {
      if (binding.criteria !== undefined && matchingResource(binding.criteria, request, catalogs) === undefined) continue;
      try {
        for (const param of await paramsOf(policy, binding, { request, resource: params })) {
          const id = JSON.stringify([policy.name, binding.name, param?.metadata.namespace ?? '', param?.metadata.name ?? '']);
          into.push({ id, policy, binding, resource, param });
        }
      } catch (error) {
        this.#misconfigured(error, policy, binding);
      }
    }
  }

  /** True if a mutation was made, even one that changed nothing. */
  async #invoke(invocation: Invocation): Promise<boolean> {
    const { policy, param, resource, id } = invocation;
    const pausing = this.#pace.pause();
    if (pausing !== undefined) await pausing;
    const view = await viewOf(this.#request, resource);
    if (policy.conditions.length > 0) {
      const result = await this.#settled(policy, (authorizer) =>
        meets(policy.conditions, new Evaluation(bindingsOf(view, authorizer, param), policy.variables, costOfConditions)),
      );
      if (result.error !== undefined) this.#deny(result.error, invocation);
      if (result.error !== undefined || !result.met) return false;
    }
    if (!this.#rounds.includes(id)) return false;
    const made = view.object !== undefined && (await this.#change(invocation, view));
    if (policy.isReinvocable) this.#rounds.askedOnce(id);
    return made;
  }

  async #change(invocation: Invocation, view: View): Promise<boolean> {
    const { object: next, failures } = await this.#settled(invocation.policy, (authorizer) =>
      this.#mutated(invocation, view, bindingsOf(view, authorizer, invocation.param)),
    );
    for (const why of failures) this.#deny(why, invocation);
    if (next !== view.object && !sameJson(next, view.object)) {
      await this.#take(next, view);
      this.#rounds.changed();
    }
    return failures.length < invocation.policy.mutations.length;
  }

  #settled<Result>({ evaluated }: MutatingPolicy, work: (authorizer: Authorizer) => Parts<Result>): Promise<Result> {
    const { authorizer, quarantine } = this.#options;
    return settledInParts(authorizer, async (parts) => this.#pace.run(quarantine.watch(evaluated, parts)), work);
  }

  /** Applies the mutations in order, each to the result of the previous one. A failed mutation changes nothing. */
  *#mutated({ policy }: Invocation, view: View, bindings: ReturnType<typeof bindingsOf>): Parts<Mutated> {
    const failures: string[] = [];
    const form: Form = { resource: view.resource, shape: this.#request.shape };
    let current = view.object!;
    for (const mutation of policy.mutations) {
      try {
        const seen = current === view.object ? bindings : { ...bindings, object: current as never };
        current = yield* mutated(mutation, current, { evaluation: new Evaluation(seen, policy.variables, costOfValidations), form });
      } catch (error) {
        if (!(error instanceof FailedMutation)) throw error;
        failures.push(error.message);
      }
      yield;
    }
    return { object: current, failures };
  }

  async #take(next: KubeObject, view: View): Promise<void> {
    const { resource, shape, object } = this.#request;
    const own = shape === undefined ? await converted(next, view.resource, resource) : next;
    if (shape === undefined) checkPlace(this.#request, own);
    replaceContents(object!, own);
  }

  #deny(why: string, { policy, binding }: Invocation): void {
    if (policy.failurePolicy === 'Ignore') return;
    this.#denials.push({ message: `policy '${policy.name}' with binding '${binding.name}' denied request: ${why}`, reason: 'Invalid' });
  }

  #misconfigured(error: unknown, policy: MutatingPolicy, binding: PolicyBinding | undefined): void {
    if (!(error instanceof Misconfigured)) throw error;
    if (policy.failurePolicy === 'Ignore') return;
    const message =
      binding === undefined
        ? `policy ${JSON.stringify(policy.name)} denied request: failed to configure policy: ${error.message}`
        : `policy '${policy.name}' with binding '${binding.name}' denied request: failed to configure binding: ${error.message}`;
    this.#denials.push({ message, reason: 'Forbidden' });
  }

  #refusal({ message, reason }: Denial): StatusError {
    const { details } = forbidden(this.#request, message).status;
    const causes = this.#denials.map((denial) => ({ message: denial.message }));
    return new StatusError({ code: 403, message, reason, details: { ...details, causes } });
  }
}
