import { fieldError, fieldsOf, isAbsent, itemsOf, maybeFields, numberOf, textOf, textsOf } from '@capstan/machinery';
import { type Check, named, plural, quoted, setters, sorted } from './check.ts';
import type { Container, Pod } from './pod.ts';
import { seccompBaseline, seccompOfAnnotations } from './seccomp.ts';

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

const appArmor: Check = {
  since: 0,
  find({ annotations, security, containers }) {
    const isBad = (profile: unknown): boolean => !isAbsent(profile) && !isConfined(textOf(fieldsOf(profile)['type']));
    const typeOf = (profile: unknown): string => textOf(fieldsOf(profile)['type']);
    const ofPod = security['appArmorProfile'];
    const bad = containers.filter((container) => isBad(container.security['appArmorProfile']));
    const marked = Object.entries(annotations)
      .filter(([key, value]) => key.startsWith(appArmorPrefix) && !isConfinedByAnnotation(value))
      .map(([key, value]) => `${key}=${fieldError.quote(value)}`)
      .sort();
    const subjects = [setters(isBad(ofPod), namesOf(bad)), marked.length > 0 ? plural('annotation', marked) : ''].filter(Boolean);
    if (subjects.length === 0) return undefined;
    const types = bad.map((container) => typeOf(container.security['appArmorProfile']));
    const values = [...sorted(isBad(ofPod) ? [typeOf(ofPod), ...types] : types), ...marked];
    return {
      reason: plural('forbidden AppArmor profile', values),
      detail: `${subjects.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
    };
  },
};

function isConfined(type: string): boolean {
  return type === 'RuntimeDefault' || type === 'Localhost';
}

function isConfinedByAnnotation(profile: string): boolean {
  return profile === '' || profile === 'runtime/default' || profile.startsWith('localhost/');
}

const usualCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

export const capabilitiesBaseline: Check = {
  since: 0,
  find({ containers }) {
    const found = offenders(containers, ({ security }) =>
      textsOf(fieldsOf(security['capabilities'])['add']).filter((one) => !usualCapabilities.has(one)),
    );
    if (found === undefined) return undefined;
    const detail = `${named('container', found.names)} must not include ${quoted(found.values)} in securityContext.capabilities.add`;
    return { reason: 'non-default capabilities', detail };
  },
};

const hostNamespaces: Check = {
  since: 0,
  find({ spec }) {
    const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true).map((field) => `${field}=true`);
    return shared.length === 0 ? undefined : { reason: 'host namespaces', detail: shared.join(', ') };
  },
};

export const hostPathVolumes: Check = {
  since: 0,
  find({ spec }) {
    const volumes = itemsOf(spec['volumes']).filter(({ hostPath }) => !isAbsent(hostPath));
    if (volumes.length === 0) return undefined;
    const names = volumes.map(({ name }) => textOf(name));
    return { reason: 'hostPath volumes', detail: named('volume', names) };
  },
};

const hostPorts: Check = {
  since: 0,
  find({ containers }) {
    const found = offenders(containers, ({ fields }) =>
      itemsOf(fields['ports'])
        .map(({ hostPort }) => numberOf(hostPort))
        .filter((port) => port !== 0)
        .map(String),
    );
    if (found === undefined) return undefined;
    const { names, values } = found;
    return {
      reason: 'hostPort',
      detail: `${named('container', names)} ${verb(names)} ${plural('hostPort', values)} ${values.join(', ')}`,
    };
  },
};

/** Such probes make the kubelet connect to hosts that the pod chooses. */
const hostProbes: Check = {
  since: 34,
  find({ containers }) {
    const found = offenders(containers, ({ fields }) => {
      const lifecycle = fieldsOf(fields['lifecycle']);
      const handlers = [
        fields['livenessProbe'],
        fields['readinessProbe'],
        fields['startupProbe'],
        lifecycle['postStart'],
        lifecycle['preStop'],
      ];
      return handlers
        .flatMap((handler) => [fieldsOf(handler)['httpGet'], fieldsOf(handler)['tcpSocket']])
        .map((target) => textOf(fieldsOf(target)['host']))
        .filter((host) => host !== '');
    });
    if (found === undefined) return undefined;
    const names = sorted(found.names);
    const detail = `${named('container', names)} ${verb(names)} ${named('probe or lifecycle host', found.values)}`;
    return { reason: 'probe or lifecycle host', detail };
  },
};

const privileged: Check = {
  since: 0,
  find({ containers }) {
    const bad = containers.filter(({ security }) => security['privileged'] === true);
    if (bad.length === 0) return undefined;
    return { reason: 'privileged', detail: `${named('container', namesOf(bad))} must not set securityContext.privileged=true` };
  },
};

const procMount: Check = {
  since: 0,
  find({ containers }) {
    const found = offenders(containers, ({ security }) => {
      const mount = security['procMount'];
      return isAbsent(mount) || mount === 'Default' ? [] : [textOf(mount)];
    });
    if (found === undefined) return undefined;
    const detail = `${named('container', found.names)} must not set securityContext.procMount to ${quoted(found.values)}`;
    return { reason: 'procMount', detail };
  },
};

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

function seLinux(allowed: ReadonlySet<string>): Check['find'] {
  return ({ security, containers }) => {
    const isBad = (options: unknown): boolean => {
      const { type, user, role } = fieldsOf(options);
      return !allowed.has(textOf(type)) || textOf(user) !== '' || textOf(role) !== '';
    };
    const isPodBad = isBad(security['seLinuxOptions']);
    const bad = containers.filter((container) => isBad(container.security['seLinuxOptions']));
    if (!isPodBad && bad.length === 0) return undefined;
    const all = [security, ...bad.map((container) => container.security)].map((context) => fieldsOf(context['seLinuxOptions']));
    const types = sorted(all.map(({ type }) => textOf(type)).filter((type) => !allowed.has(type)));
    const wrong = [
      ...(types.length > 0 ? [named('type', types)] : []),
      ...['user', 'role'].filter((field) => all.some((options) => textOf(options[field]) !== '')).map((field) => `${field} may not be set`),
    ];
    const subject = setters(isPodBad, namesOf(bad));
    return { reason: 'seLinuxOptions', detail: `${subject} set forbidden securityContext.seLinuxOptions: ${wrong.join('; ')}` };
  };
}

/** The sysctls that affect only the pod itself, by the Kubernetes version that first allowed them. */
const safeSysctls: ReadonlyMap<number, readonly string[]> = new Map([
  [
    0,
    [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ],
  ],
  [27, ['net.ipv4.ip_local_reserved_ports']],
  [29, ['net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes']],
  [32, ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']],
]);

const sysctls: readonly Check[] = [...safeSysctls.keys()].map((since, at, all) => {
  const allowed = new Set(all.slice(0, at + 1).flatMap((version) => safeSysctls.get(version)!));
  const next = all[at + 1];
  return {
    since,
    ...(next !== undefined && { until: next }),
    find({ security }: Pod) {
      const bad = itemsOf(security['sysctls'])
        .map(({ name }) => textOf(name))
        .filter((name) => !allowed.has(name));
      return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
    },
  };
});

const windowsHostProcess: Check = {
  since: 0,
  find({ security, containers }) {
    const isBad = (context: Pod['security']): boolean => maybeFields(context['windowsOptions'])?.['hostProcess'] === true;
    const subject = setters(isBad(security), namesOf(containers.filter((container) => isBad(container.security))));
    if (subject === '') return undefined;
    return { reason: 'hostProcess', detail: `${subject} must not set securityContext.windowsOptions.hostProcess=true` };
  },
};

/** In the order of reports. */
export const baselineChecks: readonly Check[] = [
  appArmor,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  { since: 0, until: 31, find: seLinux(new Set(seLinuxTypes)) },
  { since: 31, find: seLinux(new Set([...seLinuxTypes, 'container_engine_t'])) },
  seccompOfAnnotations,
  seccompBaseline,
  ...sysctls,
  windowsHostProcess,
];

function namesOf(containers: readonly Container[]): string[] {
  return containers.map(({ name }) => name);
}

function verb({ length }: readonly string[]): string {
  return length === 1 ? 'uses' : 'use';
}

/** The containers with forbidden values, and all those values. */
function offenders(
  containers: readonly Container[],
  forbidden: (container: Container) => readonly string[],
): { readonly names: string[]; readonly values: string[] } | undefined {
  const names: string[] = [];
  const values: string[] = [];
  for (const container of containers) {
    const found = forbidden(container);
    if (found.length === 0) continue;
    names.push(container.name);
    values.push(...found);
  }
  return names.length === 0 ? undefined : { names, values: sorted(values) };
}
