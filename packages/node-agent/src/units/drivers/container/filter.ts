import { readFile, writeFile } from 'node:fs/promises';
import type { Engine } from './engine.ts';
import { podman } from './podman.ts';

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
