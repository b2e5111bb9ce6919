import { readFile, writeFile } from 'node:fs/promises';
import type { Engine } from './engine.ts';
import { podman } from './podman/podman.ts';

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args?: readonly object[] | null;
  readonly [other: string]: unknown;
}

interface Profile {
  readonly defaultAction: string;
  readonly archMap?: readonly { readonly architecture: string; readonly subArchitectures?: readonly string[] | null }[];
  readonly syscalls: readonly Rule[];
  readonly [other: string]: unknown;
}

/** Calls that Podman's filter allows for containers in containers, and that the driver `exec` refuses. */
const denied = [
  ...[
    'mount',
    'umount',
    'umount2',
    'pivot_root',
    'setns',
    'open_tree',
    'move_mount',
    'fsopen',
    'fsconfig',
    'fsmount',
    'fspick',
    'mount_setattr',
  ],
  ...['bpf', 'perf_event_open', 'userfaultfd', 'add_key', 'request_key', 'keyctl', 'open_by_handle_at', 'fanotify_init'],
];
const missing = ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];
/** Flags for new namespaces, in the first argument. */
const namespaceFlags = { clone: 0x7e020000, unshare: 0x7e020080 };

const allow = 'SCMP_ACT_ALLOW';
const refuse = (names: readonly string[], errnoRet: number): Rule => ({ names, action: 'SCMP_ACT_ERRNO', errnoRet });

/** A stricter version of a filter: no namespaces, mounts, keys or io_uring, and no calls of another architecture. */
export function stricter(profile: Profile): Profile {
  const special = new Set([...denied, ...missing, ...Object.keys(namespaceFlags)]);
  const kept = profile.syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !special.has(name)) }))
    .filter(({ names }) => names.length > 0);
  const withoutFlags = Object.entries(namespaceFlags).map(
    ([name, value]): Rule => ({ names: [name], action: allow, args: [{ index: 0, value, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }] }),
  );
  const { archMap = [] } = profile;
  return {
    ...profile,
    archMap: archMap.map(({ architecture }) => ({ architecture, subArchitectures: [] })),
    syscalls: [...kept, refuse(denied, 1), refuse(missing, 38), ...withoutFlags],
  };
}

/** Further calls that the driver `exec` refuses. The filters of engines that allow only some calls leave them out. */
const dangerous = [
  ...['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module', 'create_module', 'query_module', 'get_kernel_syms'],
  ...['reboot', 'swapon', 'swapoff', 'acct', 'quotactl', 'quotactl_fd', 'settimeofday', 'clock_settime', 'adjtimex', 'clock_adjtime'],
  ...['syslog', 'sethostname', 'setdomainname', 'vhangup', 'lookup_dcookie', 'nfsservctl', 'chroot', 'open_tree_attr'],
  ...['iopl', 'ioperm', '_sysctl', 'uselib', 'ustat', 'sysfs'],
];
const architectures: Readonly<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };
/** Typing into a terminal: TIOCSTI and TIOCLINUX. */
const terminalRequests = [0x5412, 0x541c];
/** Sockets of virtual machines and of the kernel's cryptography. */
const socketFamilies = [40, 38];

/** The filter of the driver `exec` for Docker, whose own cannot be read and made stricter. */
export function ownProfile(architecture: string = process.arch): Profile {
  const when = (name: string, index: number, match: object): Rule => ({ ...refuse([name], 1), args: [{ index, ...match }] });
  const bits = (flags: number): number[] => Array.from({ length: 31 }, (_, bit) => 2 ** bit).filter((bit) => (flags & bit) !== 0);
  return {
    defaultAction: allow,
    architectures: [architectures[architecture]],
    syscalls: [
      refuse([...denied, ...dangerous], 1),
      refuse(missing, 38),
      ...Object.entries(namespaceFlags).flatMap(([name, flags]) =>
        bits(flags).map((bit) => when(name, 0, { value: bit, valueTwo: bit, op: 'SCMP_CMP_MASKED_EQ' })),
      ),
      ...terminalRequests.map((value) => when('ioctl', 1, { value: 0xffffffff, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' })),
      ...socketFamilies.map((value) => when('socket', 0, { value, valueTwo: 0, op: 'SCMP_CMP_EQ' })),
    ],
  };
}

/** Writes a filter for Docker to a file. */
export async function writeOwnFilter(file: string): Promise<string> {
  await writeFile(file, JSON.stringify(ownProfile()), { mode: 0o600 });
  return file;
}

/** Writes a stricter version of the filter of Podman to a file; undefined if Podman has none. */
export async function writeFilter(engine: Engine, file: string): Promise<string | undefined> {
  const info = await engine.call<{ readonly host?: { readonly security?: { readonly seccompProfilePath?: string } } }>({
    path: `${podman.prefix}/info`,
  });
  const path = info.host?.security?.seccompProfilePath;
  const text = path === undefined || path === '' ? undefined : await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  await writeFile(file, JSON.stringify(stricter(JSON.parse(text) as Profile)), { mode: 0o600 });
  return file;
}
