import { type Fields, fieldsOf, isAbsent, itemsOf, textOf, textsOf } from '@capstan/machinery';
import { capabilitiesBaseline, hostPathVolumes } from './baseline.ts';
import { named, quoted, type StricterCheck, setters, sorted, type Violation } from './check.ts';
import { isWindows, type Pod } from './pod.ts';
import { seccompRestricted, seccompRestrictedExceptWindows } from './seccomp.ts';

function escalation({ containers }: Pod): Violation | undefined {
  const bad = containers.filter(({ security }) => security['allowPrivilegeEscalation'] !== false).map(({ name }) => name);
  if (bad.length === 0) return undefined;
  const detail = `${named('container', bad)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: 'allowPrivilegeEscalation != false', detail };
}

function capabilities({ containers }: Pod): Violation | undefined {
  const keeping: string[] = [];
  const adding: string[] = [];
  const added: string[] = [];
  for (const { name, security } of containers) {
    const { drop, add } = fieldsOf(security['capabilities']);
    if (!textsOf(drop).includes('ALL')) keeping.push(name);
    const forbidden = textsOf(add).filter((one) => one !== 'NET_BIND_SERVICE');
    if (forbidden.length > 0) adding.push(name);
    added.push(...forbidden);
  }
  const details = [
    ...(keeping.length > 0 ? [`${named('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [`${named('container', adding)} must not include ${quoted(sorted(added))} in securityContext.capabilities.add`]
      : []),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

const harmlessSources = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
const otherSources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
];

const restrictedVolumes: StricterCheck = {
  since: 0,
  instead: [hostPathVolumes],
  find({ spec }) {
    const bad = itemsOf(spec['volumes']).filter((volume) => !harmlessSources.some((source) => !isAbsent(volume[source])));
    if (bad.length === 0) return undefined;
    const names = bad.map(({ name }) => textOf(name));
    const types = sorted(bad.map((volume) => otherSources.find((source) => !isAbsent(volume[source])) ?? 'unknown'));
    const verb = names.length === 1 ? 'uses' : 'use';
    return { reason: 'restricted volume types', detail: `${named('volume', names)} ${verb} ${named('restricted volume type', types)}` };
  },
};

const runAsNonRoot: StricterCheck = {
  since: 0,
  find({ security, containers }) {
    const reason = 'runAsNonRoot != true';
    const isRoot = (context: Readonly<Fields>): boolean => context['runAsNonRoot'] === false;
    const subject = setters(
      isRoot(security),
      containers.filter((container) => isRoot(container.security)).map(({ name }) => name),
    );
    if (subject !== '') return { reason, detail: `${subject} must not set securityContext.runAsNonRoot=false` };
    if (security['runAsNonRoot'] === true) return undefined;
    const silent = containers.filter((container) => isAbsent(container.security['runAsNonRoot'])).map(({ name }) => name);
    if (silent.length === 0) return undefined;
    return { reason, detail: `pod or ${named('container', silent)} must set securityContext.runAsNonRoot=true` };
  },
};

const runAsUser: StricterCheck = {
  since: 23,
  find({ security, containers }) {
    const isRoot = ({ runAsUser: user }: Readonly<Fields>): boolean => user === 0 || user === 0n;
    const subject = setters(
      isRoot(security),
      containers.filter((container) => isRoot(container.security)).map(({ name }) => name),
    );
    return subject === '' ? undefined : { reason: 'runAsUser=0', detail: `${subject} must not set runAsUser=0` };
  },
};

/**
 * In the order of reports, after those of the baseline level. Since 1.25, Windows pods are exempt from checks that do not apply to Windows.
 */
export const restrictedChecks: readonly StricterCheck[] = [
  { since: 8, until: 25, find: escalation },
  { since: 25, find: (pod) => (isWindows(pod) ? undefined : escalation(pod)) },
  { since: 22, until: 25, instead: [capabilitiesBaseline], find: capabilities },
  { since: 25, instead: [capabilitiesBaseline], find: (pod) => (isWindows(pod) ? undefined : capabilities(pod)) },
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompRestricted,
  seccompRestrictedExceptWindows,
];
