import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from '../command.ts';
import { buildImage, busyboxImage, pauseImage } from '../kubelets/images.ts';
import type { ToolName } from '../tools/catalogue.ts';
import { requireTool, tool } from '../tools/tool.ts';
import type { Parts } from './layout.ts';
import type { ProgramName } from './options.ts';

const needed = [
  'etcd',
  'etcdutl',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'kubelet',
  'kubectl',
  'containerd',
] as const satisfies readonly ToolName[];

export const releaseVersions: Readonly<Record<ProgramName, string>> = { rke2: 'v1.34.1+rke2r1', k3s: 'v1.34.1+k3s1' };

export interface ReleaseNeeds {
  /** Whether missing programs are built. From scratch, that takes a quarter of an hour. */
  readonly builds?: boolean;
}

/** Why no distribution can be made here; undefined if one can. */
export async function releaseProblem({ builds = false }: ReleaseNeeds = {}): Promise<string | undefined> {
  for (const name of needed) {
    const found = await tool(name, builds ? {} : { signal: AbortSignal.abort() });
    if ('missing' in found) return builds ? found.missing : `${found.missing}; \`npm run long\` builds it`;
  }
  return undefined;
}

/** A release: the files that people download for an installation without a network, by name. */
export interface Release {
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Variables that name a folder with the files of a real release, and its version. */
function realRelease(program: ProgramName): Release | undefined {
  const name = program.toUpperCase();
  const folder = process.env[`CAPSTAN_${name}_RELEASE`];
  if (folder === undefined) return undefined;
  const files = readdirSync(folder).map((file) => [file, join(folder, file)]);
  return { version: process.env[`CAPSTAN_${name}_VERSION`] ?? 'release', files: Object.fromEntries(files) };
}

/**
 * Makes a release whose programs are those of Kubernetes, etcd and Debian's containerd, behind the interface of RKE2 or k3s. It works only on this machine: the programs
 * stay where they are. `CAPSTAN_RKE2_RELEASE` or `CAPSTAN_K3S_RELEASE` name a folder with a real release instead.
 */
export async function buildRelease(program: ProgramName, directory: string): Promise<Release> {
  const real = realRelease(program);
  if (real !== undefined) return real;
  const parts = Object.fromEntries(await Promise.all(needed.map(async (name) => [name, await requireTool(name)]))) as unknown as Parts;
  const version = releaseVersions[program];
  const put = (name: string, text: string, mode = 0o755): string => {
    const path = join(directory, name);
    writeFileSync(path, text, { mode });
    return path;
  };
  const settings = JSON.stringify({ ...parts, version });
  const main = join(import.meta.dirname, 'main.ts');
  const wrapper = `#!/bin/sh\nCAPSTAN_DISTRIBUTION='${settings}' exec '${process.execPath}' '${main}' ${program} "$@"\n`;
  const script = (name: string): string =>
    readFileSync(join(import.meta.dirname, 'scripts', `${name}.sh`), 'utf8').replaceAll('@program@', program);
  mkdirSync(directory, { recursive: true });
  const images = join(directory, program === 'rke2' ? 'rke2-images.linux-amd64.tar.zst' : 'k3s-airgap-images-amd64.tar.zst');
  const names = [...pauseImage.names, ...busyboxImage.names];
  await buildImage(join(`${parts.containerd}.tree`, 'bin/busybox'), { ...pauseImage, names }, images);
  if (program === 'k3s') {
    const install = script('install-k3s')
      .replace('@killall@', () => script('killall'))
      .replace('@uninstall@', () => script('uninstall'));
    return {
      version,
      files: { k3s: put('k3s', wrapper), 'install.sh': put('install.sh', install), 'k3s-airgap-images-amd64.tar.zst': images },
    };
  }
  const tree = join(directory, 'tree');
  mkdirSync(join(tree, 'bin'), { recursive: true });
  mkdirSync(join(tree, 'lib/systemd/system'), { recursive: true });
  put('tree/bin/rke2', wrapper);
  for (const name of ['killall', 'uninstall']) put(`tree/bin/rke2-${name}.sh`, script(name));
  for (const role of ['server', 'agent']) put(`tree/lib/systemd/system/rke2-${role}.service`, unit(role), 0o644);
  const archive = join(directory, 'rke2.linux-amd64.tar.gz');
  await output('tar', ['-czf', archive, '-C', tree, '.']);
  const hash = createHash('sha256').update(readFileSync(archive)).digest('hex');
  return {
    version,
    files: {
      'rke2.linux-amd64.tar.gz': archive,
      'sha256sum-amd64.txt': put('sha256sum-amd64.txt', `${hash}  rke2.linux-amd64.tar.gz\n`, 0o644),
      'install.sh': put('install.sh', script('install-rke2')),
      'rke2-images.linux-amd64.tar.zst': images,
    },
  };
}

const unit = (role: string): string => `[Unit]
After=network-online.target
[Service]
Type=exec
KillMode=process
Delegate=yes
Restart=always
RestartSec=5s
ExecStart=/usr/local/bin/rke2 ${role}
[Install]
WantedBy=multi-user.target
`;
