/** A validation step of an update: metadata or the rest, for the new object alone or compared with the old one. */
export type UpdateRound = 'metadata' | 'rest' | 'metadataChange' | 'change';

const wholeThenChange: readonly UpdateRound[] = ['metadata', 'rest', 'metadataChange', 'change'];
const changeThenWhole: readonly UpdateRound[] = ['metadataChange', 'change', 'metadata', 'rest'];
const changeInside: readonly UpdateRound[] = ['metadataChange', 'metadata', 'rest', 'change'];
const restTwice: readonly UpdateRound[] = ['metadata', 'rest', 'metadataChange', 'change', 'rest'];
const whole: readonly UpdateRound[] = ['metadata', 'rest', 'change'];
const wholeTwice: readonly UpdateRound[] = ['metadata', 'rest', 'metadata', 'rest', 'change'];
const roles: readonly UpdateRound[] = ['metadata', 'rest', 'metadata', 'rest', 'metadataChange', 'change'];

export const usualRounds: readonly UpdateRound[] = ['metadataChange', 'rest', 'change'];

/** Kinds for which Kubernetes repeats or reorders validation steps on update. Clients get an error's cause once for each repetition. */
export const updateRounds: ReadonlyMap<string, readonly UpdateRound[]> = new Map([
  ['/configmaps', changeThenWhole],
  ['/secrets', changeThenWhole],
  ['/endpoints', changeThenWhole],
  ['/events', ['rest', 'change']],
  ['events.k8s.io/events', ['metadataChange', 'rest', 'change']],
  ['/replicationcontrollers', ['metadata', 'rest', 'metadataChange', 'rest', 'change']],
  ['/pods', changeInside],
  ['/persistentvolumeclaims', ['metadata', 'rest', 'metadataChange', 'metadata', 'rest', 'change']],
  ['/persistentvolumes', wholeTwice],
  ['/serviceaccounts', changeThenWhole],
  ['/namespaces', wholeThenChange],
  ['/limitranges', whole],
  ['admissionregistration.k8s.io/mutatingwebhookconfigurations', whole],
  ['admissionregistration.k8s.io/validatingwebhookconfigurations', whole],
  ['admissionregistration.k8s.io/validatingadmissionpolicies', whole],
  ['admissionregistration.k8s.io/validatingadmissionpolicybindings', whole],
  ['apiregistration.k8s.io/apiservices', changeThenWhole],
  ['certificates.k8s.io/certificatesigningrequests', wholeThenChange],
  ['discovery.k8s.io/endpointslices', whole],
  ['flowcontrol.apiserver.k8s.io/flowschemas', whole],
  ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations', whole],
  ['node.k8s.io/runtimeclasses', wholeThenChange],
  ['storage.k8s.io/csinodes', wholeTwice],
  ['storage.k8s.io/csistoragecapacities', wholeThenChange],
  ['storage.k8s.io/volumeattachments', wholeTwice],
  ['/nodes', wholeThenChange],
  ['apps/controllerrevisions', changeInside],
  ['apps/daemonsets', ['metadataChange', 'change', 'rest']],
  ['batch/jobs', wholeThenChange],
  ['networking.k8s.io/ingresses', changeThenWhole],
  ['networking.k8s.io/ingressclasses', changeThenWhole],
  ['networking.k8s.io/networkpolicies', restTwice],
  ['networking.k8s.io/ipaddresses', wholeThenChange],
  ['policy/poddisruptionbudgets', ['rest']],
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
