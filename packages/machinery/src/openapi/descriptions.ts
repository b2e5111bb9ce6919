/**
 * Our own descriptions for what users look up with `kubectl explain`: by the last part of the type's name, then by field; the empty field
 * is the type itself.
 */
const descriptions: Record<string, Record<string, string>> = {
  ObjectMeta: {
    '': 'Metadata that every object has: its name, namespace and owners, and fields maintained by the server.',
    name: 'The name, unique among objects of this kind in the namespace. Immutable.',
    generateName: 'If no name is given, the server generates one that begins with this prefix.',
    namespace: 'The namespace of the object. Empty for kinds that are not namespaced. Immutable.',
    uid: 'A unique identifier assigned by the server and never reused.',
    resourceVersion: 'Changes with every write. Send it with an update to have the update rejected if the object has changed since.',
    generation: 'Incremented when the desired state changes, that is, anything but metadata and status.',
    creationTimestamp: 'CreationTimestamp is a timestamp of when the object was created. Set by the server.',
    deletionTimestamp:
      'When the object will be deleted. Set by the server when deletion is requested; the object remains until its finalizers are removed.',
    deletionGracePeriodSeconds: 'How long the object may take to shut down before it is deleted. Set by the server.',
    labels: 'Short keys and values for selecting objects.',
    annotations: 'Keys and values for tools. They cannot be used in selectors.',
    ownerReferences: 'The objects that own this one: it is deleted when none of them exists any more.',
    finalizers: 'Names of cleanups that must run before the object is deleted. Each controller removes its own entry when it is done.',
    managedFields: 'The fields that each manager last set. Maintained by the server for apply.',
    selfLink: 'No longer used.',
  },
  ListMeta: {
    '': 'Metadata that every list has.',
    resourceVersion: 'The state that the list reflects. A watch from here misses no change.',
    continue: 'Send it back to get the next page. Empty on the last page.',
    remainingItemCount: 'The number of objects after this page, if known.',
  },
  ConfigMap: {
    '': 'Configuration data for programs to read.',
    data: 'Text values by key.',
    binaryData: 'Binary values in base64, by key.',
    immutable: 'If true, the data cannot be changed, only deleted together with the object.',
  },
  Secret: {
    '': 'Passwords, tokens and keys. Only users with access to secrets can read it.',
    data: 'The content in base64, by key.',
    stringData: 'Content as text, by key. Write-only: it is stored in data.',
    type: 'The purpose of the content. Immutable.',
    immutable: 'If true, the content cannot be changed.',
  },
  Namespace: { '': 'A scope for names within a workspace. Deleting it deletes everything in it.' },
  ServiceAccount: { '': 'An identity for programs, which authenticate with tokens issued for it.' },
  Event: { '': 'A human-readable report of something that happened to an object. Events expire.' },
  Lease: { '': 'Records who holds a role and until when. Used for leader election and node heartbeats.' },
  ResourceQuota: { '': 'Limits the resources used in a namespace.' },
  LimitRange: { '': 'Limits and defaults for the resource requests of single objects in a namespace.' },
  Role: { '': 'Permissions within one namespace. A RoleBinding grants them.', rules: 'The permissions.' },
  ClusterRole: { '': 'Permissions in all namespaces. A binding grants them.', rules: 'The permissions.' },
  RoleBinding: { '': 'Grants a role to users, groups and service accounts in one namespace.' },
  ClusterRoleBinding: { '': 'Grants a cluster role to users, groups and service accounts in all namespaces.' },
  CustomResourceDefinition: { '': 'Adds a kind to the API. Objects of that kind can be created once it is Established.' },
  ValidatingWebhookConfiguration: { '': 'Services that are called before a change and may reject it.' },
  MutatingWebhookConfiguration: { '': 'Services that are called before a change and may modify it.' },
  ValidatingAdmissionPolicy: { '': 'CEL expressions that changes must satisfy. A binding puts the policy into effect.' },
  ValidatingAdmissionPolicyBinding: { '': 'Puts a validating policy into effect for selected objects.' },
  MutatingAdmissionPolicy: { '': 'CEL expressions that modify objects. A binding puts the policy into effect.' },
  MutatingAdmissionPolicyBinding: { '': 'Puts a mutating policy into effect for selected objects.' },
  CertificateSigningRequest: { '': 'A request for a certificate, which is issued once the request is approved.' },
  Pod: { '': 'Containers that run together on one node.' },
  Deployment: { '': 'Keeps a number of identical pods running and replaces them gradually when the template changes.' },
  StatefulSet: { '': 'Keeps pods running that each have a stable name and storage.' },
  DaemonSet: { '': 'Runs a pod on every node, or on selected nodes.' },
  ReplicaSet: { '': 'Keeps a number of identical pods running. Usually created by a Deployment.' },
  Job: { '': 'Runs pods until a number of them have succeeded.' },
  CronJob: { '': 'Creates jobs on a schedule.' },
  Service: { '': 'One address for a set of pods.' },
  Node: { '': 'A machine that runs pods.' },
  Ingress: { '': 'Routes HTTP requests from outside to services.' },
  NetworkPolicy: { '': 'Specifies which connections pods may accept and open.' },
  PersistentVolume: { '': 'A piece of storage.' },
  PersistentVolumeClaim: { '': 'A request for a piece of storage.' },
  StorageClass: { '': 'A way to provision storage on demand.' },
};

// Conformance tests look for the first words of some of these.
const everyKind: Record<string, string> = {
  apiVersion: 'APIVersion defines the version of the kind, preceded by its group, such as apps/v1.',
  kind: 'The kind of the object.',
  metadata: "Standard object's metadata: its name and other fields that every object has.",
  spec: 'The desired state.',
  status: 'The observed state. Written by controllers.',
};

/** The description of a type or of one of its fields; undefined if we have none. */
export function describe(typeName: string, field = ''): string | undefined {
  const name = typeName.slice(typeName.lastIndexOf('.') + 1);
  const own = Object.hasOwn(descriptions, name) ? descriptions[name]! : undefined;
  if (own !== undefined && Object.hasOwn(own, field)) return own[field];
  return field !== '' && Object.hasOwn(everyKind, field) ? everyKind[field] : undefined;
}
