import type { Cluster, SlurmNode } from './cluster.ts';

const common = ['munge', 'slurm-client'];
const accounting = ['slurmdbd', 'mariadb-server-core', 'mariadb-client-core'];

/** Of Debian and Ubuntu. */
export const allPackages: readonly string[] = [...common, 'slurmctld', 'slurmd', ...accounting];

export function packagesOf({ settings }: Cluster, { member }: SlurmNode): readonly string[] {
  switch (member.component) {
    case 'controller':
      return [...common, 'slurmctld', ...(settings.hasAccounting ? accounting : [])];
    case 'compute':
      return [...common, 'slurmd'];
    default:
      return common;
  }
}
