import { statfs } from 'node:fs/promises';
import { type Mount, mountOf } from '../../disks/mounts.ts';
import { missingProgram, type RunProgram, runProgram } from '../../disks/programs.ts';
import type { VolumeUsage } from './backend.ts';

/** Limits on directories of one file system: every file in such a directory counts for the number of its project. */
export interface ProjectQuota {
  /** Every file that is created below from now on belongs to the project. */
  assign(folder: string, project: number): Promise<void>;
  /** Changes how many bytes the files of the project may have; 0 removes the limit. */
  limit(project: number, bytes: number): Promise<void>;
  /** The limit and the use of the project of a folder. */
  usage(folder: string): Promise<VolumeUsage>;
}

/** The programs that each file system needs, and the package that has the one that is rarely installed. */
const needed = {
  ext4: { programs: ['chattr', 'setquota', 'setpriv'], package: 'quota' },
  xfs: { programs: ['xfs_quota'], package: 'xfsprogs' },
} as const;

export interface FindQuotaOptions {
  /** For tests: another list of mounts, and other programs. */
  readonly mountOf?: (folder: string) => Promise<Mount | undefined>;
  readonly missingProgram?: typeof missingProgram;
  readonly run?: RunProgram;
}

/** The project quotas of the file system of a folder, or a sentence that says why there are none. */
export async function findProjectQuota(folder: string, options: FindQuotaOptions = {}): Promise<ProjectQuota | string> {
  const mount = await (options.mountOf ?? mountOf)(folder);
  if (mount === undefined) return `the file system of ${folder} is not known`;
  const { type, point } = mount;
  if (type !== 'ext4' && type !== 'xfs') return `the file system of ${folder} is ${type}, which has no project quotas; ext4 and XFS have`;
  // XFS has two names for it, and shows one that ends differently if the limits are not enforced.
  if (!mount.options.includes('prjquota') && !mount.options.includes('pquota'))
    return `the file system at ${point} (${type}) is mounted without prjquota`;
  if (type === 'xfs' && /\s/.test(folder)) return `xfs_quota cannot use the path ${folder}, which has a blank`;
  const missing = await (options.missingProgram ?? missingProgram)(needed[type].programs);
  if (missing !== undefined) return `${missing} is missing on the node: apt-get install ${needed[type].package}`;
  return type === 'ext4' ? ext4Quota(point, options.run ?? runProgram) : xfsQuota(point, options.run ?? runProgram);
}

const kibibytes = (bytes: number): string => String(Math.ceil(bytes / 1024));

function ext4Quota(point: string, run: RunProgram): ProjectQuota {
  return {
    async assign(folder, project) {
      await run('chattr', ['-R', '-p', String(project), folder]);
      // Only folders hand the project on.
      await run('find', [folder, '-xdev', '-type', 'd', '-exec', 'chattr', '+P', '{}', '+']);
    },
    async limit(project, bytes) {
      await run('setquota', ['-P', String(project), '0', kibibytes(bytes), '0', '0', point]);
    },
    usage: usageOf,
  };
}

function xfsQuota(point: string, run: RunProgram): ProjectQuota {
  const command = (words: string): Promise<string> => run('xfs_quota', ['-x', '-c', words, point]);
  return {
    async assign(folder, project) {
      await command(`project -s -p ${folder} ${project}`);
    },
    async limit(project, bytes) {
      await command(`limit -p bhard=${kibibytes(bytes)}k ${project}`);
    },
    usage: usageOf,
  };
}

/** Both file systems report the limit of a project as the size of its folders, and its use as theirs. */
async function usageOf(folder: string): Promise<VolumeUsage> {
  const { blocks, bfree, bsize } = await statfs(folder);
  return { capacityBytes: blocks * bsize, usedBytes: (blocks - bfree) * bsize };
}
