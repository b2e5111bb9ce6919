import { type Client, discover } from '@capstan/client';
import { type Controller, controller, type Result, whenOutdated } from '@capstan/controller';
import { emptyType } from './content.ts';
import { type Namespace, namespaceType } from './namespace.ts';
import { reconcileNamespace } from './reconcile.ts';

/** Watches namespaces, and works on those that are being deleted. */
export function namespaceController({ concurrency = 8 }: { readonly concurrency?: number | undefined } = {}): Controller<Namespace> {
  return controller('namespace')
    .for<Namespace>(namespaceType, { predicate: ({ type, object }) => type !== 'deleted' && isLeaving(object) })
    .reconcile(({ key, client, signal }) => emptyNamespace(client, key.name, signal), {
      concurrency,
      backoff: { base: 200, max: 30_000 },
    });
}

function isLeaving({ metadata }: Namespace): boolean {
  return metadata.deletionTimestamp !== undefined;
}

async function emptyNamespace(client: Client, name: string, signal: AbortSignal): Promise<Result> {
  const namespaces = client.resource<Namespace>(namespaceType);
  try {
    // Read anew: others write to a namespace while it ends, and the copy may lag behind our own last write.
    return await reconcileNamespace(await namespaces.get(name, { signal }), {
      discover: () => discover(client, signal),
      empty: (type) => emptyType(client, { type, namespace: name, signal }),
      writeStatus: (namespace) => namespaces.updateStatus(namespace, { signal }),
      finalize: async (namespace) => {
        await namespaces.writeSubresource(name, { subresource: 'finalize', method: 'PUT', body: namespace, signal });
      },
      now: () => new Date(),
    });
  } catch (error) {
    return whenOutdated(error);
  }
}
