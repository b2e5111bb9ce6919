import type { ClusterId } from '@capstan/api';
import { FieldPath, fieldError, itemsOf, type KubeObject, status } from '@capstan/machinery';
import type { EntryReader } from '../../cache/reader.ts';
import type { AdmissionPlugin } from '../../registry/admission.ts';
import { mutatingConfigurations, validatingConfigurations } from './configurations.ts';

const resources = [mutatingConfigurations, validatingConfigurations];

/** Four configurations with as many webhooks as one may have. */
const usualLimit = 1_000;

/** Every write looks at the rules and selectors of all webhooks, so those that are longer count for several. */
const charactersPerWebhook = 8_192;

/**
 * Limits how many webhooks a workspace has in all its configurations. A workspace that has more already may change them, but not add any.
 * Concurrent writes can exceed the limit slightly.
 */
export function webhookCountLimit(cache: EntryReader, limit = usualLimit): AdmissionPlugin {
  const count = (cluster: ClusterId, except: string): number => {
    let total = 0;
    for (const resource of resources)
      cache.walk(resource, cluster, ({ text, object }) => {
        if (`${resource.resource}/${object.metadata.name}` !== except) total += weightOf(object, text.length);
        return true;
      });
    return total;
  };
  return {
    name: 'WebhookCountLimit',
    validate({ resource, object, old, operation, subresource, name, context: { cluster } }) {
      if (object === undefined || operation === 'DELETE' || subresource !== '' || !isConfiguration(resource)) return;
      const own = weightOf(object, JSON.stringify(object).length);
      if (old !== undefined && own <= weightOf(old, JSON.stringify(old).length)) return;
      const total = own + count(cluster, `${resource.resource}/${name}`);
      if (total <= limit) return;
      const message = `the workspace would have ${total} webhooks in all configurations, the limit is ${limit}; each counts once for each ${charactersPerWebhook / 1024} KiB`;
      throw status.invalidObject({ group: resource.group, kind: resource.kind }, name, [
        fieldError.forbidden(FieldPath.of('webhooks'), message),
      ]);
    },
  };
}

const isConfiguration = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  resources.some((one) => one.group === group && one.resource === resource);

function weightOf(configuration: KubeObject, characters: number): number {
  return Math.max(1, itemsOf(configuration['webhooks']).length, Math.floor(characters / charactersPerWebhook));
}
