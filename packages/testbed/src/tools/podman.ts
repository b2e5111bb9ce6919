import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DebianTree, libraryPath } from './debian-tree.ts';

/** Podman with runc, configured for machines with few privileges: limits that need no CAP_SYS_RESOURCE, and cgroups without systemd. */
export const podmanTree: DebianTree = {
  packages: ['podman', 'runc'],
  prepare: (tree) => {
    const home = join(tree, 'home');
    const settings = join(tree, 'containers.conf');
    mkdirSync(join(home, '.config/containers'), { recursive: true });
    // Images come only from files of the tests.
    writeFileSync(join(home, '.config/containers/policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
    const environment = { HOME: home, CONTAINERS_CONF: settings, LD_LIBRARY_PATH: libraryPath(tree) };
    writeFileSync(settings, settingsFor(tree, environment));
    const variables = Object.entries(environment).map(([name, value]) => `${name}='${value}'`);
    return `#!/bin/sh\n${variables.join(' ')} exec '${join(tree, 'usr/bin/podman')}' "$@"\n`;
  },
};

/** Conmon runs Podman when a container ends, with these variables only. */
function settingsFor(tree: string, environment: Readonly<Record<string, string>>): string {
  const variables = Object.entries({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...environment }).map(([name, value]) => `"${name}=${value}"`);
  return `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
seccomp_profile = "${tree}/usr/share/containers/seccomp.json"

[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
conmon_path = ["${tree}/usr/bin/conmon"]
conmon_env_vars = [${variables.join(', ')}]

[engine.runtimes]
runc = ["${tree}/usr/sbin/runc"]
`;
}
