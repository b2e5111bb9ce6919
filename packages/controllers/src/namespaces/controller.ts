import { type Client, discover } from '@capstan/client';
import { type Controller, controller, isDeleting, type Result } from '@capstan/controller';
import { emptyType } from './content.ts';
import { type Namespace, namespaceType } from './namespace.ts';
import { reconcileNamespace } from './reconcile.ts';

/** Watches namespaces, and works on those that are being deleted. */
export function namespaceController({ concurrency = 8 }: { readonly concurrency?: number | undefined } = {}): Controller<Namespace> {
  return controller('namespace')
    .for<Namespace>(namespaceType, { predicate: ({ type, object }) => type !== 'deleted' && isDeleting(object) })
    .reconcile(({ key, client, signal }) => emptyNamespace(client, key.name, signal), {
      concurrency,
      backoff: { base: 200, max: 30_000 },
    });
}

async function emptyNamespace(client: Client, name: string, signal: AbortSignal): Promise<Result> {
  const namespaces = client.resource<Namespace>(namespaceType);
  // Read from the server: others write to a namespace while it ends, and the copy may lack our own last write.
  return reconcileNamespace(await namespaces.get(name, { signal }), {
    discover: () => discover(client, signal),
    empty: (type) => emptyType(client, { type, namespace: name, signal }),
    writeStatus: (namespace) => namespaces.updateStatus(namespace, { signal }),
    finalize: async (namespace) => {
      await namespaces.writeSubresource(name, { subresource: 'finalize', method: 'PUT', body: namespace, signal });
    },
    now: () => new Date(),
  });
}
