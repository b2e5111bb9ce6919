import type { ObjectReader } from '@capstan/kinds';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { WebhookClient } from './client.ts';
import type { Hook } from './hook.ts';
import type { View } from './review.ts';

/** What webhooks are called with. */
export interface WebhookOptions {
  readonly objects: ObjectReader;
  readonly catalogs: Catalogs;
  readonly client: WebhookClient;
  /** Whether a webhook's conditions let it be asked. Throws a `StatusError` when they cannot be evaluated and the webhook must not be passed over. */
  readonly meetsConditions: (hook: Hook, view: View) => Promise<boolean>;
}
