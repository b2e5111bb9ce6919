import { controller, done, ownerReferenceTo } from '../index.ts';

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

/** Every namespace with the label `team` has a ConfigMap that says whose it is. */
export const teamNotes = controller('team-notes')
  .for(namespaces, { labelSelector: 'team' })
  .owns(configMaps)
  .reconcile(async ({ key, object: namespace, client, events }) => {
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return done;
    const team = namespace.metadata.labels?.team ?? '';
    const note = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'team', namespace: key.name, ownerReferences: [ownerReferenceTo(namespace)] },
      data: { team },
    };
    await client.resource(configMaps).apply(note, { fieldManager: 'team-notes', force: true });
    events.normal(namespace, 'Noted', `belongs to ${team}`);
    return done;
  });
