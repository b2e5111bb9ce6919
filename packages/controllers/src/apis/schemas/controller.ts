import { clusterOf, isNotFound } from '@capstan/client';
import { controller, done, type Result, type Runnable, requeueAfter } from '@capstan/controller';
import { withCaches } from '../caches.ts';
import { type ApiBinding, bindingType, boundSchemasCluster, conversionType, schemaType } from '../kinds.ts';
import { copyName, uidOfCopy } from './copies.ts';

/** A copy that nobody uses yet may be about to be used: whoever binds makes it first. */
const youth = 30 * 60_000;

/** Removes copies of schemas that no binding uses any more. */
export function schemaCopyController(): Runnable {
  return withCaches((caches) =>
    controller('apiresourceschema-cleanup')
      .for(schemaType, { metadataOnly: true, predicate: ({ object }) => clusterOf(object) === boundSchemasCluster })
      .watches<ApiBinding>(bindingType, ({ status }) =>
        (status?.boundResources ?? []).map((bound) => ({ cluster: boundSchemasCluster, name: copyName(bound.schema.UID, bound) })),
      )
      .reconcile(
        async ({ object: copy, client, signal }): Promise<Result> => {
          if (copy === undefined) return done;
          const { name = '', uid, creationTimestamp } = copy.metadata;
          if (caches().bindings.byIndex('schema', uidOfCopy(name)).length > 0) return done;
          const age = Date.now() - Date.parse(creationTimestamp ?? '');
          if (age < youth) return requeueAfter(youth - age);
          await unlessGone(client.resource(schemaType).delete(name, { preconditions: { uid: uid! }, signal }));
          await unlessGone(client.resource(conversionType).delete(name, { signal }));
          return done;
        },
        { backoff: { base: 1_000, max: 60_000 } },
      ),
  );
}

async function unlessGone(deleting: Promise<unknown>): Promise<void> {
  try {
    await deleting;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
