import type { AdmissionPlugin } from './admission.ts';
import { mutatingWebhooks } from './webhooks/mutating.ts';
import type { WebhookOptions } from './webhooks/options.ts';
import { validatingWebhooks } from './webhooks/validating.ts';

/** What users add to admission themselves: webhooks and policies. */
export function dynamicAdmission(options: Omit<WebhookOptions, 'meetsConditions'>): readonly AdmissionPlugin[] {
  const webhooks = { ...options, meetsConditions: () => true };
  return [mutatingWebhooks(webhooks), validatingWebhooks(webhooks)];
}
