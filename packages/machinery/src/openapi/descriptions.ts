/** Words of our own for what everybody looks up with `kubectl explain`. By the last part of the type's name, then by field; the empty field is the type. */
const descriptions: Record<string, Record<string, string>> = {
  ObjectMeta: {
    '': 'What every object has: its name, where it is, who owns it, and what the server keeps about it.',
    name: 'The name, unique among objects of this kind in the namespace. It cannot be changed.',
    generateName: 'The server makes a name that begins with this, when no name is given.',
    namespace: 'The namespace that the object is in. Empty for kinds without namespaces. It cannot be changed.',
    uid: 'An identifier that the server gives and never uses again.',
    resourceVersion: 'Changes whenever the object does. Send it back with an update to be refused when somebody else was faster.',
    generation: 'Counts the changes of what is wanted, that is of everything but metadata and status.',
    creationTimestamp: 'CreationTimestamp is a timestamp of when the object was created. Set by the server.',
    deletionTimestamp: 'When the object is to be gone. Set by the server when deletion was asked for; it waits for the finalizers.',
    deletionGracePeriodSeconds: 'How long the object has until it is removed. Set by the server.',
    labels: 'Short keys and values to select objects by.',
    annotations: 'Keys and values for tools. They cannot be selected by.',
    ownerReferences: 'The objects that this one belongs to: it is deleted when none of them is left.',
    finalizers: 'Who has something to do before the object is removed. Each takes its own entry away when it is done.',
    managedFields: 'Which fields were last set by whom. Kept by the server for apply.',
    selfLink: 'No longer used.',
  },
  ListMeta: {
    '': 'What every list has.',
    resourceVersion: 'The state that the list shows. A watch from here misses nothing.',
    continue: 'Send it back to get the next page. Empty on the last one.',
    remainingItemCount: 'How many objects come after this page, when that is known.',
  },
  ConfigMap: {
    '': 'Settings for programs to read.',
    data: 'The settings, as text by key.',
    binaryData: 'Settings that are not text, in base64, by key.',
    immutable: 'When true, the content can no longer be changed, only deleted with the object.',
  },
  Secret: {
    '': 'Passwords, tokens and keys. Its content is shown only to those who may read secrets.',
    data: 'The content in base64, by key.',
    stringData: 'Content as text, by key: written only, and stored under data.',
    type: 'What the content is for. It cannot be changed.',
    immutable: 'When true, the content can no longer be changed.',
  },
  Namespace: { '': 'A part of a workspace with names of its own. Deleting it deletes everything in it.' },
  ServiceAccount: { '': 'An identity for programs, which get tokens for it.' },
  Event: { '': 'Something that happened to an object, told for people. Events expire.' },
  Lease: { '': 'Who holds a role and until when. Used to elect a leader and to show that a node is alive.' },
  ResourceQuota: { '': 'How much may be used in a namespace.' },
  LimitRange: { '': 'Bounds and defaults for what single objects in a namespace ask for.' },
  Role: { '': 'What may be done with which resources in one namespace. A RoleBinding says by whom.', rules: 'What is allowed.' },
  ClusterRole: { '': 'What may be done with which resources in all namespaces. A binding says by whom.', rules: 'What is allowed.' },
  RoleBinding: { '': 'Grants a role to users, groups and service accounts in one namespace.' },
  ClusterRoleBinding: { '': 'Grants a cluster role to users, groups and service accounts everywhere.' },
  CustomResourceDefinition: { '': 'Adds a kind to the API. Objects of that kind can be created once it is Established.' },
  ValidatingWebhookConfiguration: { '': 'Services that are asked before a change, and may refuse it.' },
  MutatingWebhookConfiguration: { '': 'Services that are asked before a change, and may alter it.' },
  ValidatingAdmissionPolicy: { '': 'Conditions, written as expressions, that changes must meet where a binding says so.' },
  ValidatingAdmissionPolicyBinding: { '': 'Puts a validating policy into effect for some of the objects.' },
  MutatingAdmissionPolicy: { '': 'Changes, written as expressions, that are made to objects where a binding says so.' },
  MutatingAdmissionPolicyBinding: { '': 'Puts a mutating policy into effect for some of the objects.' },
  CertificateSigningRequest: { '': 'Asks for a certificate. It is issued when the request is approved.' },
  Pod: { '': 'Containers that run together on one node.' },
  Deployment: { '': 'Keeps a number of identical pods running and replaces them step by step when the template changes.' },
  StatefulSet: { '': 'Keeps pods running that have a name and storage of their own.' },
  DaemonSet: { '': 'Runs a pod on every node, or on those that are selected.' },
  ReplicaSet: { '': 'Keeps a number of identical pods running. Usually made by a Deployment.' },
  Job: { '': 'Runs pods until a number of them has succeeded.' },
  CronJob: { '': 'Creates jobs on a schedule.' },
  Service: { '': 'One address for a set of pods.' },
  Node: { '': 'A machine that runs pods.' },
  Ingress: { '': 'Leads HTTP requests from outside to services.' },
  NetworkPolicy: { '': 'Which connections pods may take and make.' },
  PersistentVolume: { '': 'A piece of storage.' },
  PersistentVolumeClaim: { '': 'Asks for a piece of storage.' },
  StorageClass: { '': 'A way to make storage when it is asked for.' },
};

// The words at the beginning of some of these are looked for by conformance tests.
const everyKind: Record<string, string> = {
  apiVersion: 'APIVersion defines which version of the kind this is, with the group before it, such as apps/v1.',
  kind: 'What the object is.',
  metadata: "Standard object's metadata: its name and what else every object has.",
  spec: 'What is wanted.',
  status: 'What is. Written by whoever works on the object.',
};

/** The description of a type, or of one of its fields; undefined when we have none. */
export function describe(typeName: string, field = ''): string | undefined {
  const name = typeName.slice(typeName.lastIndexOf('.') + 1);
  const own = Object.hasOwn(descriptions, name) ? descriptions[name]! : undefined;
  if (own !== undefined && Object.hasOwn(own, field)) return own[field];
  return field !== '' && Object.hasOwn(everyKind, field) ? everyKind[field] : undefined;
}
