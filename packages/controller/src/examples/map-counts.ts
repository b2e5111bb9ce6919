import { controller, done } from '../index.ts';

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const annotation = 'example.com/config-maps';

/** Every namespace with the label `team` has an annotation with the number of its ConfigMaps. */
export const mapCounts = controller('map-counts')
  .for(namespaces, { labelSelector: 'team' })
  .reads((informers) => ({ maps: informers.informer(configMaps, { metadataOnly: true }) }))
  .watches(configMaps, ({ metadata }) => [{ name: metadata.namespace ?? '' }], { metadataOnly: true })
  .reconcile(async ({ key, object: namespace, copies, client, wrote }) => {
    if (namespace === undefined) return done;
    const count = String(copies.maps.list({ namespace: key.name }).length);
    if (namespace.metadata.annotations?.[annotation] === count) return done;
    const patch = { metadata: { annotations: { [annotation]: count } } };
    wrote(await client.resource(namespaces).patch(key.name, { type: 'merge', patch }));
    return done;
  });
