import { status } from '@capstan/machinery';
import type { Gate } from '../authz/attributes.ts';
import { settledInParts } from '../authz/settled.ts';
import type { AdmissionPlugin } from '../registry/admission.ts';
import { printHeld, type Quarantine } from '../registry/quarantine.ts';
import { bindingsOf } from './expressions/bindings.ts';
import { type Met, meets } from './expressions/conditions.ts';
import { costOfConditions, Evaluation } from './expressions/evaluation.ts';
import { mutatingPolicies } from './policies/mutating/plugin.ts';
import { paramAccess } from './policies/param-access.ts';
import { validatingPolicies } from './policies/plugin.ts';
import type { Hook } from './webhooks/hook.ts';
import { mutatingWebhooks } from './webhooks/mutating.ts';
import type { WebhookOptions } from './webhooks/options.ts';
import type { View } from './webhooks/review.ts';
import { validatingWebhooks } from './webhooks/validating.ts';

export interface DynamicOptions extends Omit<WebhookOptions, 'meetsConditions'> {
  readonly authorizer: Gate;
  readonly quarantine: Quarantine;
}

/** The admission that users configure: webhooks and policies. */
export function dynamicAdmission(options: DynamicOptions): readonly AdmissionPlugin[] {
  const webhooks = { ...options, meetsConditions: (hook: Hook, view: View) => meetsConditions(hook, view, options) };
  const all = [paramAccess(options), mutatingWebhooks(webhooks), validatingPolicies(options), validatingWebhooks(webhooks)];
  return options.catalogs.builtin.isBuiltinVersion('admissionregistration.k8s.io', 'v1beta1') ? [mutatingPolicies(options), ...all] : all;
}

const noVariables = new Map<string, never>();

async function meetsConditions(hook: Hook, view: View, { authorizer: gate, quarantine }: DynamicOptions): Promise<boolean> {
  const { conditions, evaluated } = hook;
  const held = quarantine.held(evaluated.identity);
  if (held !== undefined) return unknown(hook, view, printHeld(held));
  const pace = view.request.context.pace();
  const result = await settledInParts<Met>(
    gate,
    async (parts) => pace.run(quarantine.watch(evaluated, parts)),
    (authorizer) => meets(conditions, new Evaluation(bindingsOf(view, authorizer), noVariables, costOfConditions)),
  );
  const pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  return result.error === undefined ? result.met : unknown(hook, view, result.error);
}

/** The failure policy decides about conditions that cannot be evaluated. */
function unknown({ failurePolicy }: Hook, { request }: View, why: string): false {
  if (failurePolicy === 'Ignore') return false;
  throw status.forbidden(request.resource, request.name, why);
}
