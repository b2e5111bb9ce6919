/** What Kubernetes looks at when an object changes: its metadata or the rest, by itself or against what it was. */
export type UpdateRound = 'metadata' | 'rest' | 'metadataChange' | 'change';

const wholeThenChange: readonly UpdateRound[] = ['metadata', 'rest', 'metadataChange', 'change'];
const changeThenWhole: readonly UpdateRound[] = ['metadataChange', 'change', 'metadata', 'rest'];
const changeInside: readonly UpdateRound[] = ['metadataChange', 'metadata', 'rest', 'change'];
const restTwice: readonly UpdateRound[] = ['metadata', 'rest', 'metadataChange', 'change', 'rest'];
const roles: readonly UpdateRound[] = ['metadata', 'rest', 'metadata', 'rest', 'metadataChange', 'change'];

export const usualRounds: readonly UpdateRound[] = ['metadataChange', 'rest', 'change'];

/**
 * Kinds for which Kubernetes goes over some things more than once, or in another order than the usual. Whoever sends something wrong is told one cause for
 * each time.
 */
export const updateRounds: ReadonlyMap<string, readonly UpdateRound[]> = new Map([
  ['/configmaps', changeThenWhole],
  ['/secrets', changeThenWhole],
  ['/endpoints', changeThenWhole],
  ['/events', ['rest', 'change']],
  ['events.k8s.io/events', ['metadataChange', 'rest', 'change']],
  ['/replicationcontrollers', ['metadata', 'rest', 'metadataChange', 'rest', 'change']],
  ['/pods', changeInside],
  ['/persistentvolumeclaims', ['metadata', 'rest', 'metadataChange', 'metadata', 'rest', 'change']],
  ['/persistentvolumes', ['metadata', 'rest', 'metadata', 'rest', 'change']],
  ['/nodes', wholeThenChange],
  ['apps/controllerrevisions', changeInside],
  ['batch/jobs', ['metadata', 'rest', 'metadataChange', 'rest', 'change']],
  ['networking.k8s.io/ingresses', changeThenWhole],
  ['networking.k8s.io/ingressclasses', changeThenWhole],
  ['networking.k8s.io/networkpolicies', restTwice],
  ['rbac.authorization.k8s.io/roles', roles],
  ['rbac.authorization.k8s.io/rolebindings', roles],
  ['rbac.authorization.k8s.io/clusterroles', roles],
  ['rbac.authorization.k8s.io/clusterrolebindings', roles],
  ['storage.k8s.io/storageclasses', wholeThenChange],
  ['storage.k8s.io/volumeattributesclasses', ['metadata', 'rest', 'metadataChange', 'change', 'metadata', 'rest']],
  ['resource.k8s.io/deviceclasses', restTwice],
  ['resource.k8s.io/resourceclaims', restTwice],
  ['resource.k8s.io/resourceclaimtemplates', restTwice],
]);
