import type { DebianRepository } from './debian-repository.ts';

/** Slurm, its authentication and its accounting with a database. */
export const slurmRepository: DebianRepository = {
  packages: ['munge', 'slurmctld', 'slurmd', 'slurm-client', 'slurmdbd', 'mariadb-server-core', 'mariadb-client-core'],
};
