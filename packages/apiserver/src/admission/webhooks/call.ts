import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../registry/context.ts';
import { ruleCluster } from '../source.ts';
import { readAnswer, type Verdict } from './answer.ts';
import type { WebhookClient } from './client.ts';
import { CallFailure, noDryRun } from './failure.ts';
import type { Hook } from './hook.ts';
import { reviewText, reviewVersionOf, type View } from './review.ts';

/** Calls a webhook for a request. Throws a `CallFailure` if the call fails or the response is invalid. */
export async function ask(client: WebhookClient, hook: Hook, { view, mutating }: { view: View; mutating: boolean }): Promise<Verdict> {
  const { request } = view;
  const { context, dryRun } = request;
  if (dryRun && hook.hasSideEffects) throw noDryRun(hook.name);
  const version = reviewVersionOf(hook.reviewVersions);
  if (version === undefined) {
    throw new CallFailure('could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)');
  }
  const uid = randomUUID();
  const answer = await client.post({
    cluster: ruleCluster(request),
    endpoint: hook.endpoint,
    body: () => reviewText(version, uid, view),
    timeoutSeconds: hook.timeoutSeconds,
  });
  const verdict = readAnswer(answer, { version, uid, mutating });
  pass(verdict, hook, context);
  return verdict;
}

/** Passes on the warnings and audit annotations of a webhook, whatever it decides. */
function pass({ warnings, auditAnnotations }: Verdict, hook: Hook, context: RequestContext): void {
  for (const warning of warnings) context.warn(warning);
  for (const [key, value] of Object.entries(auditAnnotations)) context.annotate(`${hook.name}/${key}`, value);
}
