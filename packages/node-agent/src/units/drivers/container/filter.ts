import { readFile, writeFile } from 'node:fs/promises';
import type { PodmanInfo } from './podman/podman.ts';

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
    'file_setattr',
  ],
  ...['bpf', 'perf_event_open', 'userfaultfd', 'add_key', 'request_key', 'keyctl', 'open_by_handle_at', 'fanotify_init'],
];
/** FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR: with these, files leave the project that limits them. */
const fileRequests = [0x40086602, 0x401c5820];
const missing = ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];
/** Flags for new namespaces, in the first argument. */
const namespaceFlags = { clone: 0x7e020000, unshare: 0x7e020080 };

const allow = 'SCMP_ACT_ALLOW';
const refuse = (names: readonly string[], errnoRet: number): Rule => ({ names, action: 'SCMP_ACT_ERRNO', errnoRet });

/** A stricter version of a filter: no namespaces, mounts, keys or io_uring, and no calls of another architecture. */
export function stricter(profile: Profile): Profile {
  const special = new Set(['ioctl', ...denied, ...missing, ...Object.keys(namespaceFlags)]);
  const kept = profile.syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !special.has(name)) }))
    .filter(({ names }) => names.length > 0);
  const withoutFlags = Object.entries(namespaceFlags).map(
    ([name, value]): Rule => ({ names: [name], action: allow, args: [{ index: 0, value, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }] }),
  );
  const hasRequests = profile.syscalls.some(({ names, action }) => action === allow && names.includes('ioctl'));
  const requests = !hasRequests
    ? []
    : othersThan(fileRequests).map((match): Rule => ({ names: ['ioctl'], action: allow, args: [{ index: 1, ...match }] }));
  const { archMap = [] } = profile;
  return {
    ...profile,
    archMap: archMap.map(({ architecture }) => ({ architecture, subArchitectures: [] })),
    syscalls: [...kept, refuse(denied, 1), refuse(missing, 38), ...withoutFlags, ...requests],
  };
}

interface Match {
  /** The mask. */
  readonly value: number;
  readonly valueTwo: number;
  readonly op: 'SCMP_CMP_MASKED_EQ';
}

/**
 * Matches of all numbers of 32 bits but these. A filter that allows only some calls cannot refuse numbers, and a rule can look at an argument only once: so
 * each match takes the numbers that first differ from the refused ones in a certain bit.
 */
export function othersThan(refused: readonly number[], bit = 31, prefix = 0): Match[] {
  const mask = 2 ** 32 - 2 ** (bit + 1);
  if (refused.length === 0) return [{ value: mask, valueTwo: prefix, op: 'SCMP_CMP_MASKED_EQ' }];
  if (bit < 0) return [];
  const isSet = (number: number): boolean => Math.floor(number / 2 ** bit) % 2 === 1;
  return [
    ...othersThan(
      refused.filter((one) => !isSet(one)),
      bit - 1,
      prefix,
    ),
    ...othersThan(refused.filter(isSet), bit - 1, prefix + 2 ** bit),
  ];
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
      ...[...terminalRequests, ...fileRequests].map((value) =>
        when('ioctl', 1, { value: 0xffffffff, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }),
      ),
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
export async function writeFilter({ host }: PodmanInfo, file: string): Promise<string | undefined> {
  const path = host?.security?.seccompProfilePath;
  const text = path === undefined || path === '' ? undefined : await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  await writeFile(file, JSON.stringify(stricter(JSON.parse(text) as Profile)), { mode: 0o600 });
  return file;
}
