import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import type { Resource } from '../../registry/resource.ts';
import { isExempt, matchingResource } from '../matching/match.ts';
import { ruleCluster } from '../source.ts';
import { ask } from './call.ts';
import { Configurations, validatingConfigurations } from './configurations.ts';
import { CallFailure, denied, failedCalling } from './failure.ts';
import type { Hook } from './hook.ts';
import type { WebhookOptions } from './options.ts';
import { named, type View, viewOf } from './review.ts';

/** Calls validating webhooks in parallel, with the object as it will be stored. */
export function validatingWebhooks(options: WebhookOptions): AdmissionPlugin {
  const configurations = new Configurations(options.objects, validatingConfigurations);
  return {
    name: 'ValidatingAdmissionWebhook',
    validate(request) {
      const hooks = configurations.of(ruleCluster(request));
      if (hooks.length === 0 || isExempt(request)) return;
      const concerned: Concerned[] = [];
      for (const hook of hooks) {
        const resource = matchingResource(hook.criteria, request, options.catalogs);
        if (resource !== undefined) concerned.push({ hook, resource });
      }
      if (concerned.length > 0) return validate(concerned, request, options);
    },
  };
}

interface Concerned {
  readonly hook: Hook;
  /** In the version that matches the webhook's rules. */
  readonly resource: Resource;
}

async function validate(concerned: readonly Concerned[], request: AdmissionRequest, options: WebhookOptions): Promise<void> {
  const views = new Map<string, View>();
  const calls: { hook: Hook; view: View }[] = [];
  for (const { hook, resource } of concerned) {
    let view = views.get(resource.groupVersion);
    if (view === undefined) views.set(resource.groupVersion, (view = named(await viewOf(request, resource))));
    if (hook.conditions.length > 0 && !(await options.meetsConditions(hook, view))) continue;
    calls.push({ hook, view });
  }
  const answers = await Promise.allSettled(calls.map(({ hook, view }, index) => check(options, hook, { view, index })));
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
}

async function check(options: WebhookOptions, hook: Hook, { view, index }: { view: View; index: number }): Promise<void> {
  try {
    const verdict = await ask(options.client, hook, { view, mutating: false });
    if (!verdict.allowed) throw denied(hook.name, verdict.result);
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    if (hook.failurePolicy === 'Fail') throw failedCalling(hook.name, error);
    view.request.context.annotate(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, hook.name);
  }
}
