import type { ObjectReader } from '@capstan/kinds';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { WebhookClient } from './client.ts';
import type { Hook } from './hook.ts';
import type { View } from './review.ts';

/** The dependencies of webhook calls. */
export interface WebhookOptions {
  readonly objects: ObjectReader;
  readonly catalogs: Catalogs;
  readonly client: WebhookClient;
  /**
   * Whether the match conditions of a webhook are met. Throws a `StatusError` if they cannot be evaluated and the failure policy is Fail.
   */
  readonly meetsConditions: (hook: Hook, view: View) => Promise<boolean>;
}
