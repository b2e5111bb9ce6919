import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  type LabelSelectorObject,
  maybeFields,
  names,
  numberOf,
  sameJson,
  selectorOfObject,
  stringMapOf,
  textOf,
  validateLabelSelector,
  validateLabels,
} from '@capstan/machinery';
import { checkTemplate } from '../pods/pod-validation.ts';
import { Findings } from '../shared/findings.ts';
import { checkAtMostEverything, checkNumberOrPercentage, isNothing } from '../shared/scales.ts';
import { checkClaimSpec } from '../volumes/volume.ts';

const at = FieldPath.of('spec');

function templateLabels(spec: Readonly<Fields>): Record<string, string> | undefined {
  return maybeFields(fieldsOf(fieldsOf(spec['template'])['metadata'])['labels']) as Record<string, string> | undefined;
}

function checkMatch(found: Findings, spec: Readonly<Fields>): void {
  const labels = templateLabels(spec);
  if (!selectorOfObject(spec['selector'] as LabelSelectorObject | undefined).matches(labels)) {
    found.invalid(at.child('template', 'metadata', 'labels'), labels, '`selector` does not match template `labels`');
  }
}

function isEmptySelector(selector: Readonly<Fields>): boolean {
  return Object.keys(fieldsOf(selector['matchLabels'])).length + itemsOf(selector['matchExpressions']).length === 0;
}

/** Returns false if the selector is invalid, so that the template cannot be matched against it. */
function checkSelector(found: Findings, spec: Readonly<Fields>, kind: string): boolean {
  const selector = maybeFields(spec['selector']);
  if (selector === undefined) {
    found.required(at.child('selector'));
    return true;
  }
  const problems = validateLabelSelector(selector, at.child('selector'));
  found.add(problems);
  if (isEmptySelector(selector)) found.invalid(at.child('selector'), selector, `empty selector is invalid for ${kind}`);
  if (problems.length > 0) found.invalid(at.child('selector'), selector, kind === 'statefulset' ? '' : 'invalid label selector');
  return problems.length === 0;
}

/** Pods of these controllers must always be restarted when they end. */
function checkEndless(found: Findings, spec: Readonly<Fields>, kind: string): void {
  const pod = fieldsOf(fieldsOf(spec['template'])['spec']);
  const path = at.child('template', 'spec');
  if (pod['restartPolicy'] !== 'Always') found.notSupported(path.child('restartPolicy'), pod['restartPolicy'], ['Always']);
  if (!isAbsent(pod['activeDeadlineSeconds'])) {
    found.forbidden(path.child('activeDeadlineSeconds'), `activeDeadlineSeconds in ${kind} is not Supported`);
  }
}

function checkCounts(found: Findings, spec: Readonly<Fields>, fields: readonly string[]): void {
  for (const field of fields) found.nonNegative(at.child(field), spec[field]);
}

/** The form in which messages show a strategy: Go's field names, including unset fields. */
function shownStrategy({ type, rollingUpdate }: Readonly<Fields>): Fields {
  const rolling = maybeFields(rollingUpdate);
  const shown = rolling && { MaxUnavailable: rolling['maxUnavailable'] ?? 0, MaxSurge: rolling['maxSurge'] ?? 0 };
  return { Type: textOf(type), RollingUpdate: shown ?? null };
}

function checkDeploymentStrategy(found: Findings, strategy: Readonly<Fields>): void {
  const path = at.child('strategy');
  const rolling = maybeFields(strategy['rollingUpdate']);
  if (strategy['type'] === 'Recreate') {
    if (rolling !== undefined) found.forbidden(path.child('rollingUpdate'), "may not be specified when strategy `type` is 'Recreate'");
    return;
  }
  if (strategy['type'] !== 'RollingUpdate') {
    found.notSupported(path, shownStrategy(strategy), ['Recreate', 'RollingUpdate']);
    return;
  }
  const { maxUnavailable, maxSurge } = rolling ?? {};
  checkNumberOrPercentage(found, path.child('rollingUpdate', 'maxUnavailable'), maxUnavailable);
  checkNumberOrPercentage(found, path.child('rollingUpdate', 'maxSurge'), maxSurge);
  if (isNothing(maxUnavailable) && isNothing(maxSurge)) {
    found.invalid(path.child('rollingUpdate', 'maxUnavailable'), maxUnavailable, 'may not be 0 when `maxSurge` is 0');
  }
  checkAtMostEverything(found, path.child('rollingUpdate', 'maxUnavailable'), maxUnavailable);
}

export function validateDeployment(deployment: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(deployment['spec']);
  checkCounts(found, spec, ['replicas']);
  if (checkSelector(found, spec, 'deployment')) checkReplicated(found, spec);
  checkDeploymentStrategy(found, fieldsOf(spec['strategy']));
  checkCounts(found, spec, ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']);
  if (!isAbsent(spec['progressDeadlineSeconds']) && numberOf(spec['progressDeadlineSeconds']) <= numberOf(spec['minReadySeconds'])) {
    found.invalid(at.child('progressDeadlineSeconds'), spec['progressDeadlineSeconds'], 'must be greater than minReadySeconds');
  }
  return found.errors;
}

function checkReplicated(found: Findings, spec: Readonly<Fields>): void {
  const selector = maybeFields(spec['selector']);
  if (selector === undefined || !isEmptySelector(selector)) checkMatch(found, spec);
  checkTemplate(found, at.child('template'), fieldsOf(spec['template']));
  checkEndless(found, spec, 'ReplicaSet');
}

export function validateReplicaSet(replicaSet: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(replicaSet['spec']);
  checkCounts(found, spec, ['replicas', 'minReadySeconds']);
  if (checkSelector(found, spec, 'deployment')) checkReplicated(found, spec);
  return found.errors;
}

export function validateReplicationController(controller: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(controller['spec']);
  checkCounts(found, spec, ['minReadySeconds']);
  const selector = stringMapOf(spec['selector']);
  if (Object.keys(selector).length === 0) found.required(at.child('selector'));
  checkCounts(found, spec, ['replicas']);
  if (maybeFields(spec['template']) === undefined) found.required(at.child('template'));
  else {
    const labels = templateLabels(spec);
    if (!Object.entries(selector).every(([key, value]) => Object.hasOwn(labels ?? {}, key) && labels?.[key] === value)) {
      found.invalid(at.child('template', 'metadata', 'labels'), labels, '`selector` does not match template `labels`');
    }
    checkTemplate(found, at.child('template'), fieldsOf(spec['template']));
    checkEndless(found, spec, 'ReplicationController');
  }
  return found.errors;
}

function checkDaemonStrategy(found: Findings, strategy: Readonly<Fields>): void {
  const path = at.child('updateStrategy');
  if (strategy['type'] === 'OnDelete') return;
  if (strategy['type'] !== 'RollingUpdate') {
    found.notSupported(path, shownStrategy(strategy), ['RollingUpdate', 'OnDelete']);
    return;
  }
  const rolling = fieldsOf(strategy['rollingUpdate']);
  const fields = ['maxUnavailable', 'maxSurge'];
  for (const field of fields) checkNumberOrPercentage(found, path.child('rollingUpdate', field), rolling[field]);
  for (const field of fields) checkAtMostEverything(found, path.child('rollingUpdate', field), rolling[field]);
  const [unavailable, surge] = fields.map((field) => !isNothing(rolling[field]));
  if (unavailable && surge) {
    found.invalid(path.child('rollingUpdate', 'maxSurge'), rolling['maxSurge'], 'may not be set when maxUnavailable is non-zero');
  } else if (!unavailable && !surge) found.required(path.child('rollingUpdate', 'maxUnavailable'), 'cannot be 0 when maxSurge is 0');
}

export function validateDaemonSet(daemonSet: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(daemonSet['spec']);
  const selector = maybeFields(spec['selector']);
  const problems = validateLabelSelector(selector, at.child('selector'));
  found.add(problems);
  if (problems.length === 0) checkMatch(found, spec);
  if (selector !== undefined && isEmptySelector(selector)) {
    found.invalid(at.child('selector'), selector, 'empty selector is invalid for daemonset');
  }
  checkTemplate(found, at.child('template'), fieldsOf(spec['template']));
  checkEndless(found, spec, 'DaemonSet');
  checkCounts(found, spec, ['minReadySeconds']);
  checkDaemonStrategy(found, fieldsOf(spec['updateStrategy']));
  checkCounts(found, spec, ['revisionHistoryLimit']);
  return found.errors;
}

/** The form in which messages show it. */
function shownRolling({ partition, maxUnavailable }: Fields): Fields {
  return { Partition: numberOf(partition), MaxUnavailable: maxUnavailable ?? null };
}

function checkStatefulStrategy(found: Findings, strategy: Readonly<Fields>): void {
  const path = at.child('updateStrategy');
  const rolling = maybeFields(strategy['rollingUpdate']);
  if (strategy['type'] === 'OnDelete') {
    if (rolling !== undefined)
      found.invalid(path.child('rollingUpdate'), shownRolling(rolling), "only allowed for updateStrategy 'RollingUpdate'");
  } else if (strategy['type'] === 'RollingUpdate') {
    found.nonNegative(path.child('rollingUpdate', 'partition'), rolling?.['partition']);
  } else {
    const shown = { Type: textOf(strategy['type']), RollingUpdate: rolling === undefined ? null : shownRolling(rolling) };
    found.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'");
  }
}

/** Volumes of claim templates count as volumes of the pod. */
function withClaimVolumes(spec: Readonly<Fields>): Fields {
  const template = fieldsOf(spec['template']);
  const pod = fieldsOf(template['spec']);
  const claims = new Set(itemsOf(spec['volumeClaimTemplates']).map((claim) => textOf(fieldsOf(claim['metadata'])['name'])));
  const volumes = itemsOf(pod['volumes']).filter((volume) => !claims.has(textOf(volume['name'])));
  const { subdomain: _, hostname: _h, ...rest } = pod;
  const added = Array.from(claims, (name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return { ...template, spec: { ...rest, volumes: [...added, ...volumes] } };
}

export function validateStatefulSet(statefulSet: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(statefulSet['spec']);
  const policy = textOf(spec['podManagementPolicy']);
  if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    found.invalid(at.child('podManagementPolicy'), policy, "must be 'OrderedReady' or 'Parallel'");
  }
  checkStatefulStrategy(found, fieldsOf(spec['updateStrategy']));
  const retention = fieldsOf(spec['persistentVolumeClaimRetentionPolicy']);
  for (const field of ['whenDeleted', 'whenScaled']) {
    found.optionalOneOf(at.child('persistentVolumeClaimRetentionPolicy', field), retention[field], ['Retain', 'Delete']);
  }
  for (const [index, claim] of itemsOf(spec['volumeClaimTemplates']).entries()) {
    checkClaimSpec(found, at.child('volumeClaimTemplates').index(index).child('spec'), fieldsOf(claim['spec']));
  }
  checkCounts(found, spec, ['replicas', 'minReadySeconds']);
  found.nonNegative(at.child('ordinals.start'), fieldsOf(spec['ordinals'])['start']);
  const service = textOf(spec['serviceName']);
  if (service !== '') found.invalid(at.child('serviceName'), service, names.dns1123Label(service));
  if (checkSelector(found, spec, 'statefulset')) {
    checkMatch(found, spec);
    checkTemplate(found, at.child('template'), withClaimVolumes(spec));
    // Kubernetes validates these labels twice, so clients see their errors twice.
    found.add(validateLabels(templateLabels(spec) ?? {}, at.child('template', 'labels')));
  }
  checkEndless(found, spec, 'StatefulSet');
  return found.errors;
}

const changeableOfStateful = [
  'replicas',
  'template',
  'updateStrategy',
  'minReadySeconds',
  'ordinals',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
];

export function validateStatefulSetUpdate(statefulSet: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const fixed = ({ spec }: KubeObject) =>
    Object.fromEntries(Object.entries(fieldsOf(spec)).filter(([field]) => !changeableOfStateful.includes(field)));
  if (!sameJson(fixed(statefulSet), fixed(old))) {
    found.forbidden(
      at,
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    );
  }
  return found.errors;
}

/** A controller's selector is immutable. */
export function validateSelectorUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [selector, before] = [fieldsOf(object['spec'])['selector'], fieldsOf(old['spec'])['selector']];
  found.immutable(at.child('selector'), selector, sameJson(selector, before));
  return found.errors;
}

export function validateRevision(revision: KubeObject): FieldError[] {
  const found = new Findings();
  found.nonNegative(FieldPath.of('revision'), revision['revision']);
  return found.errors;
}

export function validateRevisionData(revision: KubeObject): FieldError[] {
  const found = new Findings();
  const path = FieldPath.of('data');
  if (isAbsent(revision['data'])) found.required(path, 'data is mandatory');
  else if (maybeFields(revision['data']) === undefined) found.required(path, 'data must be a valid JSON object');
  return found.errors;
}

export function validateRevisionUpdate(revision: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  found.immutable(FieldPath.of('data'), revision['data'] ?? null, sameJson(revision['data'], old['data']));
  return found.errors;
}
