import type { KubeObject } from '@capstan/machinery';
import { settledInParts } from '../../authz/settled.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import type { Pace } from '../../registry/pace.ts';
import { bindingsOf } from '../expressions/bindings.ts';
import { refusedFor } from '../forbidden.ts';
import { matchingResource } from '../matching/match.ts';
import { ruleCluster } from '../source.ts';
import { type View, viewOf } from '../webhooks/review.ts';
import { evaluatePolicy, type Finding, type Findings } from './evaluate.ts';
import { Misconfigured, paramResource, paramsOf, refuseHeld } from './params.ts';
import { type Concerned, concernedBy, Policies, type PolicyOptions } from './policies.ts';
import { type Policy, type PolicyBinding, policyOf } from './policy.ts';

const longestAnnotation = 10 * 1024;
/** Enforces ValidatingAdmissionPolicies. */
export function validatingPolicies(options: PolicyOptions): AdmissionPlugin {
  const policies = new Policies(options.objects, {
    policies: 'validatingadmissionpolicies',
    bindings: 'validatingadmissionpolicybindings',
    compile: policyOf,
  });
  return {
    name: 'ValidatingAdmissionPolicy',
    validate(request) {
      const concerned = concernedBy(policies, request, options.catalogs);
      if (concerned.length > 0) return new PolicyRun(options, request).run(concerned);
    },
  };
}

interface Denial {
  readonly policy: Policy;
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
  readonly reason: string;
}

/** Evaluates all policies for one request. */
class PolicyRun {
  readonly #options: PolicyOptions;
  readonly #request: AdmissionRequest;
  readonly #pace: Pace;
  readonly #denials: Denial[] = [];

  constructor(options: PolicyOptions, request: AdmissionRequest) {
    this.#options = options;
    this.#request = request;
    this.#pace = request.context.pace();
  }

  async run(policies: readonly Concerned<Policy>[]): Promise<void> {
    for (const concerned of policies) await this.#policy(concerned);
    const [first] = this.#denials;
    if (first === undefined) return;
    const { policy, binding, message, reason } = first;
    const by = binding === undefined ? `'${policy.name}'` : `'${policy.name}' with binding '${binding.name}'`;
    throw refusedFor(this.#request, `ValidatingAdmissionPolicy ${by} denied request: ${message}`, reason);
  }

  async #policy({ policy, bindings, resource }: Concerned<Policy>): Promise<void> {
    const { catalogs } = this.#options;
    const annotations = new Map<string, Set<string>>();
    let view: View | undefined;
    let binding: PolicyBinding | undefined;
    try {
      refuseHeld(policy, this.#options.quarantine);
      const params = paramResource(policy, catalogs.of(ruleCluster(this.#request)));
      for (binding of bindings) {
        if (binding.criteria !== undefined && matchingResource(binding.criteria, this.#request, catalogs) === undefined) continue;
        view ??= await viewOf(this.#request, resource);
        for (const param of await paramsOf(policy, binding, { request: this.#request, resource: params })) {
          this.#take(await this.#evaluate(policy, view, param), { policy, binding, annotations });
          const pausing = this.#pace.pause();
          if (pausing !== undefined) await pausing;
        }
      }
    } catch (error) {
      if (!(error instanceof Misconfigured)) throw error;
      this.#misconfigured(policy, binding, error);
    }
    for (const [key, values] of annotations) this.#request.context.annotate(`${policy.name}/${key}`, [...values].join(', '));
  }

  #evaluate(policy: Policy, view: View, param: KubeObject | null): Promise<Findings> {
    return settledInParts(
      this.#options.authorizer,
      async (parts) => this.#pace.run(this.#options.quarantine.watch(policy.evaluated, parts)),
      (authorizer) => evaluatePolicy(policy, bindingsOf(view, authorizer, param)),
    );
  }

  #misconfigured(policy: Policy, binding: PolicyBinding | undefined, { message }: Misconfigured): void {
    if (policy.failurePolicy === 'Ignore') return;
    const what = `failed to configure ${binding === undefined ? 'policy' : 'binding'}: ${message}`;
    this.#denials.push({ policy, binding, message: what, reason: 'Invalid' });
  }

  #take(
    findings: Findings,
    { policy, binding, annotations }: { policy: Policy; binding: PolicyBinding; annotations: Map<string, Set<string>> },
  ): void {
    for (const failure of findings.failures) this.#act(failure, policy, binding);
    for (const { key, value } of findings.annotations) {
      const values = annotations.get(key) ?? new Set();
      annotations.set(key, values.add(value.slice(0, longestAnnotation)));
    }
    for (const message of findings.annotationErrors) this.#denials.push({ policy, binding, message, reason: 'Invalid' });
  }

  #act({ message, reason, index }: Finding, policy: Policy, binding: PolicyBinding): void {
    const { context } = this.#request;
    for (const action of binding.actions) {
      if (action === 'Deny') this.#denials.push({ policy, binding, message, reason });
      else if (action === 'Warn') {
        context.warn(`Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`);
      } else if (action === 'Audit') {
        const failure = { message, policy: policy.name, binding: binding.name, expressionIndex: index, validationActions: binding.actions };
        context.annotate('validation.policy.admission.k8s.io/validation_failure', JSON.stringify([failure]));
      }
    }
  }
}
