import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  type NameCheck,
  names,
  numberOf,
  stringMapOf,
  textOf,
  textsOf,
  validateLabels,
} from '@capstan/machinery';
import { addressProblems } from '../services/addresses.ts';
import { Findings } from '../shared/findings.ts';
import { checkRequirements } from '../shared/resources.ts';
import { checkContainers, checkId } from './container-validation.ts';
import { checkPodClaims, checkUsedClaims, claimNames, refuseClaims } from './pod-claims-validation.ts';
import { checkKernelParameters, checkSystem, checkTokenAccount } from './pod-details-validation.ts';
import { checkAppArmor, checkLinux, checkPodAnnotations, checkSeccomp } from './pod-security-validation.ts';
import { checkVolumes } from './podvolume-validation.ts';
import { checkAffinity, checkNodeLabels, checkSpread, checkTolerations } from './scheduling.ts';

const mostNameservers = 3;
const mostSearches = 32;
const highestSeconds = 2 ** 31 - 1;

const searchRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const searchPart = /^_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;

/** Unlike object names, search domains may contain underscores. */
function searchProblems(search: string): string[] {
  return search.split('.').every((part) => searchPart.test(part)) ? [] : [searchRule];
}

function checkDns(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  const config = maybeFields(spec['dnsConfig']);
  const servers = textsOf(config?.['nameservers']);
  if (spec['dnsPolicy'] === 'None') {
    if (config === undefined) {
      found.required(at, 'must provide `dnsConfig` when `dnsPolicy` is None');
      return;
    }
    if (servers.length === 0) {
      found.required(at.child('nameservers'), 'must provide at least one DNS nameserver when `dnsPolicy` is None');
      return;
    }
  }
  if (servers.length > mostNameservers) {
    found.invalid(at.child('nameservers'), servers, `must not have more than ${mostNameservers} nameservers`);
  }
  for (const [index, server] of servers.entries()) found.invalid(at.child('nameservers').index(index), server, addressProblems(server));
  const searches = textsOf(config?.['searches']);
  if (searches.length > mostSearches) found.invalid(at.child('searches'), searches, `must not have more than ${mostSearches} search paths`);
  for (const [index, search] of searches.entries()) {
    if (search !== '.')
      found.invalid(at.child('searches').index(index), search.replace(/\.$/, ''), searchProblems(search.replace(/\.$/, '')));
  }
  for (const [index, option] of itemsOf(config?.['options']).entries()) {
    if (textOf(option['name']) === '') found.required(at.child('options').index(index), 'must not be empty');
  }
}

function checkSecurity(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  const security = fieldsOf(spec['securityContext']);
  for (const field of ['fsGroup', 'runAsUser', 'runAsGroup']) checkId(found, at.child(field), security[field]);
  const groups = Array.isArray(security['supplementalGroups']) ? (security['supplementalGroups'] as unknown[]) : [];
  for (const [index, group] of groups.entries()) checkId(found, at.child('supplementalGroups').index(index), group);
  if (spec['shareProcessNamespace'] === true && spec['hostPID'] === true) {
    found.invalid(at.child('shareProcessNamespace'), true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  checkKernelParameters(found, at.child('sysctls'), { parameters: itemsOf(security['sysctls']), spec });
  found.optionalOneOf(at.child('fsGroupChangePolicy'), security['fsGroupChangePolicy'], ['Always', 'OnRootMismatch']);
  checkSeccomp(found, at.child('seccompProfile'), maybeFields(security['seccompProfile']));
  found.optionalOneOf(at.child('supplementalGroupsPolicy'), security['supplementalGroupsPolicy'], ['Merge', 'Strict']);
  checkAppArmor(found, at.child('appArmorProfile'), maybeFields(security['appArmorProfile']));
  found.optionalOneOf(at.child('seLinuxChangePolicy'), security['seLinuxChangePolicy'], ['Recursive']);
}

/** Validates an optional field that holds the name of another object. */
function checkName(found: Findings, at: FieldPath, { name, check }: { name: unknown; check: NameCheck }): void {
  const text = textOf(name);
  if (text !== '') found.invalid(at, text, check(text, false));
}

function checkHostNetwork(found: Findings, at: FieldPath, { spec, isPod }: { spec: Readonly<Fields>; isPod: boolean }): void {
  if (spec['hostNetwork'] !== true) return;
  for (const [index, container] of itemsOf(spec['containers']).entries()) {
    for (const [position, port] of itemsOf(container['ports']).entries()) {
      const host = numberOf(port['hostPort']);
      if ((isPod || host !== 0) && host !== numberOf(port['containerPort'])) {
        const path = at.child('containers').index(index).child('ports').index(position).child('hostPort');
        found.invalid(path, host, 'must match `containerPort` when `hostNetwork` is true');
      }
    }
  }
}

function checkGates(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  for (const [index, gate] of itemsOf(spec['readinessGates']).entries()) {
    const type = textOf(gate['conditionType']);
    found.invalid(at.child('readinessGates').index(index).child('conditionType'), type, names.qualifiedName(type));
  }
  const seen = new Set<string>();
  for (const [index, gate] of itemsOf(spec['schedulingGates']).entries()) {
    const name = textOf(gate['name']);
    found.invalid(at.child('schedulingGates').index(index), name, names.qualifiedName(name));
    if (seen.has(name)) found.duplicate(at.child('schedulingGates').index(index), name);
    seen.add(name);
  }
}

function checkAliases(found: Findings, at: FieldPath, aliases: readonly Fields[]): void {
  for (const [index, alias] of aliases.entries()) {
    const ip = textOf(alias['ip']);
    found.invalid(at.index(index).child('ip'), ip, addressProblems(ip));
    for (const [position, host] of textsOf(alias['hostnames']).entries()) {
      found.invalid(at.index(index).child('hostnames').index(position), host, names.dns1123Subdomain(host));
    }
  }
}

interface CheckedSpec {
  readonly spec: Readonly<Fields>;
  /** True for a pod, false for a pod template. */
  readonly isPod?: boolean;
  /** True for the mirror of a static pod. */
  readonly isMirror?: boolean;
}

function checkPodSpec(found: Findings, at: FieldPath, { spec, isPod = false, isMirror = false }: CheckedSpec): void {
  const volumes = checkVolumes(found, at.child('volumes'), { volumes: itemsOf(spec['volumes']), isPod });
  const claims = itemsOf(spec['resourceClaims']);
  if (isMirror) refuseClaims(found, claims);
  else checkPodClaims(found, at.child('resourceClaims'), claims);
  checkContainers(found, at, { spec, volumes });
  const resources = fieldsOf(spec['resources']);
  if (!isAbsent(resources['claims'])) {
    const path = at.child('resources', 'claims');
    found.forbidden(path, 'claims may not be set for Resources at pod-level');
    checkUsedClaims(found, path, { used: itemsOf(resources['claims']), known: claimNames(spec['resourceClaims']) });
  }
  checkHostNetwork(found, at, { spec, isPod });
  found.oneOf(at.child('restartPolicy'), spec['restartPolicy'], ['Always', 'OnFailure', 'Never']);
  found.oneOf(at.child('dnsPolicy'), spec['dnsPolicy'], ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
  checkNodeLabels(found, at.child('nodeSelector'), spec['nodeSelector']);
  checkSecurity(found, at.child('securityContext'), spec);
  checkAffinity(found, at.child('affinity'), fieldsOf(spec['affinity']));
  checkDns(found, at.child('dnsConfig'), spec);
  checkGates(found, at, spec);
  checkSpread(found, at.child('topologySpreadConstraints'), itemsOf(spec['topologySpreadConstraints']));
  checkName(found, at.child('serviceAccountName'), { name: spec['serviceAccountName'], check: names.dns1123Subdomain });
  checkName(found, at.child('nodeName'), { name: spec['nodeName'], check: names.dns1123Subdomain });
  const deadline = spec['activeDeadlineSeconds'];
  if (!isAbsent(deadline) && (numberOf(deadline) < 1 || numberOf(deadline) > highestSeconds)) {
    found.invalid(at.child('activeDeadlineSeconds'), deadline, names.rangeMessage(1, highestSeconds));
  }
  for (const field of ['hostname', 'subdomain']) checkName(found, at.child(field), { name: spec[field], check: names.dns1123Label });
  checkTolerations(found, at.child('tolerations'), itemsOf(spec['tolerations']));
  checkAliases(found, at.child('hostAliases'), itemsOf(spec['hostAliases']));
  checkName(found, at.child('priorityClassName'), { name: spec['priorityClassName'], check: names.dns1123Subdomain });
  const runtimeClass = spec['runtimeClassName'];
  if (!isAbsent(runtimeClass)) found.invalid(at.child('runtimeClassName'), runtimeClass, names.dns1123Subdomain(textOf(runtimeClass)));
  if (isPod && textOf(spec['nodeName']) !== '' && itemsOf(spec['schedulingGates']).length > 0)
    found.forbidden(at.child('nodeName'), 'cannot be set until all schedulingGates have been cleared');
  if (!isAbsent(spec['preemptionPolicy']))
    found.oneOf(at.child('preemptionPolicy'), spec['preemptionPolicy'], ['PreemptLowerPriority', 'Never']);
  if (!isAbsent(spec['overhead'])) checkRequirements(found, at.child('overhead'), { limits: spec['overhead'] });
  checkSystem(found, at.child('os'), maybeFields(spec['os']));
  if (fieldsOf(spec['os'])['name'] === 'linux') checkLinux(found, at, spec);
}

/** Validates the pod template of any kind that creates pods: labels, annotations and spec. */
export function checkTemplate(found: Findings, at: FieldPath, template: Readonly<Fields>): void {
  const metadata = fieldsOf(template['metadata']);
  found.add(validateLabels(stringMapOf(metadata['labels']), at.child('labels')));
  const spec = fieldsOf(template['spec']);
  const annotations = stringMapOf(metadata['annotations']);
  for (const key of Object.keys(annotations)) found.invalid(at.child('annotations'), key, names.annotationKey(key));
  checkPodAnnotations(found, at.child('annotations'), { annotations, spec });
  checkPodSpec(found, at.child('spec'), { spec });
  if (itemsOf(spec['ephemeralContainers']).length > 0) {
    found.forbidden(at.child('spec', 'ephemeralContainers'), 'ephemeral containers not allowed in pod template');
  }
}

export function validatePod(pod: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(pod['spec']);
  const annotations = pod.metadata.annotations ?? {};
  checkPodAnnotations(found, FieldPath.of('metadata', 'annotations'), { annotations, spec });
  const isMirror = annotations['kubernetes.io/config.mirror'] !== undefined;
  checkPodSpec(found, FieldPath.of('spec'), { spec, isPod: true, isMirror });
  checkTokenAccount(found, FieldPath.of('spec', 'volumes'), spec);
  return found.errors;
}

export function validatePodTemplate(object: KubeObject): FieldError[] {
  const found = new Findings();
  checkTemplate(found, FieldPath.of('template'), fieldsOf(object['template']));
  return found.errors;
}
