import { type Fields, fieldsOf, itemsOf, type KubeObject, maybeFields, sameJson, status } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../../registry/admission.ts';
import { forbidden } from '../../forbidden.ts';
import { described, violations } from './evaluate.ts';
import { warningsAbout } from './existing-pods.ts';
import { podOf } from './pod.ts';
import { isSame, isStricter, nameOf, policyOf, prefix, type Reading, type Standard } from './policy.ts';

const namespaces = { group: '', resource: 'namespaces' };
const pods = { group: '', resource: 'pods' };

/** Subresources that do not change the spec of a pod. */
const harmlessSubresources: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'binding',
  'eviction',
  'log',
  'portforward',
  'proxy',
  'status',
]);

type Template = (object: KubeObject) => Fields | undefined;
const ofSpec: Template = (object) => maybeFields(fieldsOf(object['spec'])['template']);
const ofCronJob: Template = (object) => maybeFields(fieldsOf(fieldsOf(fieldsOf(object['spec'])['jobTemplate'])['spec'])['template']);

/** Where workloads keep their pod templates. */
const templates: ReadonlyMap<string, ReadonlyMap<string, Template>> = new Map([
  [
    '',
    new Map([
      ['replicationcontrollers', ofSpec],
      ['podtemplates', (object: KubeObject) => maybeFields(object['template'])],
    ]),
  ],
  ['apps', new Map(['replicasets', 'deployments', 'statefulsets', 'daemonsets'].map((resource) => [resource, ofSpec] as const))],
  [
    'batch',
    new Map([
      ['jobs', ofSpec],
      ['cronjobs', ofCronJob],
    ]),
  ],
]);

/** Enforces the Pod Security Standards that the labels of a namespace set. */
export const podSecurity: AdmissionPlugin = {
  name: 'PodSecurity',
  validate(request) {
    const { resource, operation, object } = request;
    if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return;
    const known = templates.get(resource.group);
    if (known === undefined) return;
    if (resource.group === '' && resource.resource === 'pods') return checkPod(request, object);
    if (request.subresource !== '') return;
    if (resource.group === '' && resource.resource === 'namespaces') return checkNamespace(request, object);
    const template = known.get(resource.resource);
    if (template !== undefined) checkTemplate(request, template(object));
  },
};

function checkPod(request: AdmissionRequest, pod: KubeObject): void {
  if (harmlessSubresources.has(request.subresource)) return;
  const reading = demandsOf(request);
  if (reading === undefined) throw status.internalError(`failed to lookup namespace "${request.namespace}"`);
  const { enforce, audit, warn } = reading.policy;
  if (reading.errors.length === 0 && [enforce, audit, warn].every(({ level }) => level === 'privileged')) {
    request.context.annotate(`${prefix}enforce-policy`, 'privileged:latest');
    return;
  }
  if (request.operation === 'UPDATE' && !isSignificant(pod, request.old)) return;
  noteErrors(request, reading);
  request.context.annotate(`${prefix}enforce-policy`, nameOf(enforce));
  noteViolations(request, audit, pod);
  const found = violations(enforce, podOf(pod));
  if (found.length > 0) throw forbidden(request, `violates PodSecurity "${nameOf(enforce)}": ${described(found)}`);
  warnOf(request, warn, pod);
}

/** Workloads are only warned about, never rejected; their pods will be. */
function checkTemplate(request: AdmissionRequest, template: Fields | undefined): void {
  const reading = demandsOf(request);
  if (reading === undefined || template === undefined) return;
  const { audit, warn } = reading.policy;
  if (reading.errors.length === 0 && audit.level === 'privileged' && warn.level === 'privileged') return;
  noteErrors(request, reading);
  noteViolations(request, audit, template);
  warnOf(request, warn, template);
}

function checkNamespace(request: AdmissionRequest, namespace: KubeObject): void {
  const { labels } = namespace.metadata;
  const before = request.old?.metadata.labels;
  if (request.operation === 'UPDATE' && (labels === before || sameJson(labels, before))) return;
  const now = policyOf(labels);
  const name = namespace.metadata.name ?? '';
  const then = request.operation === 'UPDATE' ? policyOf(before) : undefined;
  if (now.errors.length > 0 && !sameJson(now.errors, then?.errors)) {
    throw status.invalidObject({ group: '', kind: 'Namespace' }, name, now.errors);
  }
  if (then === undefined) return;
  const [wanted, had] = [now.policy.enforce, then.policy.enforce];
  if (wanted.level === 'privileged' || isSame(wanted, had)) return;
  if (wanted.version === had.version && !isStricter(wanted, had)) return;
  const { context } = request;
  for (const warning of warningsAbout(context.objects.list(pods, context.cluster, name), name, wanted)) context.warn(warning);
}

function demandsOf({ context, namespace }: AdmissionRequest): Reading | undefined {
  const found = context.objects.get({ ...namespaces, cluster: context.cluster, namespace: '', name: namespace });
  return found === undefined ? undefined : policyOf(found.metadata.labels);
}

function noteErrors({ context }: AdmissionRequest, { errors }: Reading): void {
  if (errors.length === 0) return;
  context.annotate(`${prefix}error`, `Failed to parse policy: ${status.aggregate(errors.map(({ field, body }) => `${field}: ${body}`))}`);
}

function noteViolations({ context }: AdmissionRequest, audit: Standard, template: Fields): void {
  const found = violations(audit, podOf(template));
  if (found.length > 0) context.annotate(`${prefix}audit-violations`, wouldViolate(audit, described(found)));
}

function warnOf({ context }: AdmissionRequest, warn: Standard, template: Fields): void {
  const found = violations(warn, podOf(template));
  if (found.length > 0) context.warn(wouldViolate(warn, described(found)));
}

function wouldViolate(standard: Standard, what: string): string {
  return `would violate PodSecurity "${nameOf(standard)}": ${what}`;
}

/** Of the fields of a pod that can change, only images and added containers matter. */
function isSignificant(pod: KubeObject, old: KubeObject | undefined): boolean {
  const [now, before] = [fieldsOf(pod['spec']), fieldsOf(old?.['spec'])];
  for (const list of ['containers', 'initContainers']) {
    const [ours, theirs] = [itemsOf(now[list]), itemsOf(before[list])];
    if (ours.length !== theirs.length || ours.some(({ image }, at) => image !== theirs[at]!['image'])) return true;
  }
  const debuggers = itemsOf(before['ephemeralContainers']);
  return itemsOf(now['ephemeralContainers']).some(({ name, image }) => debuggers.find((one) => one['name'] === name)?.['image'] !== image);
}
