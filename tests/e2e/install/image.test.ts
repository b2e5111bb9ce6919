import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { type CommandResult, freePort, output, run, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chart, OfflineHelm } from './chart.ts';
import { buildRelease } from './outside.ts';

const image = 'localhost/capstan:0.1.0';
/** The restrictions that the chart requests from Kubernetes, as flags for Podman. */
const confined = ['--read-only', '--read-only-tmpfs=false', '--tmpfs', '/tmp', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'];

await describeWith(['podman', 'kubectl', 'helm'], 'the container image', ({ podman: path, kubectl, helm }) => {
  const directory = temporaryDirectory('image');
  const storage = ['--root', directory.join('root'), '--runroot', directory.join('run'), '--storage-driver', 'vfs'];
  const podman = (...args: string[]): Promise<CommandResult> => run(path, [...storage, ...args]);
  const succeed = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await podman(...args);
    expect(code, `podman ${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout;
  };
  const logs = async (name: string): Promise<string> => {
    const { stdout, stderr } = await podman('logs', name);
    return stdout + stderr;
  };

  beforeAll(async () => {
    mkdirSync(directory.join('out'));
    await buildRelease(directory.join('out'), 'image');
    await succeed('load', '--input', directory.join(`out/capstan-image-0.1.0-${process.arch === 'x64' ? 'amd64' : process.arch}.tar`));
  });
  afterAll(async () => {
    await podman('rm', '--all', '--force', '--time', '5');
    await podman('rmi', '--all', '--force');
    directory[Symbol.dispose]();
  });

  test('is reproducible from the same files', async () => {
    await buildRelease(directory.join('again'), 'image');
    expect(readFileSync(directory.join('again/SHA256SUMS'), 'utf8')).toBe(readFileSync(directory.join('out/SHA256SUMS'), 'utf8'));
  });

  test('contains the command, and runs as an unprivileged user', async () => {
    // In the background: in the foreground, Podman waits long for its monitor on machines whose first process is slow to reap children.
    await succeed('run', '--detach', '--name', 'version', '--network', 'none', ...confined, image, 'version');
    await expect.poll(() => logs('version')).toMatch(/^capstan 0\.1\.0 \(.*Node 24\./);
    expect(await succeed('image', 'inspect', '--format', '{{.Config.User}}', image)).toBe('65532:65532\n');
  });

  test('runs with the configuration of the Helm chart, and serves kubectl and probes', async () => {
    const port = await freePort();
    const { stdout } = await new OfflineHelm(helm, directory.path).template([
      `config.apiserver.listen.port=${port}`,
      'config.apiserver.listen.host=127.0.0.1',
      `advertise=127.0.0.1:${port}`,
    ]);
    const manifests = loadAll(stdout) as Manifest[];
    mkdirSync(directory.join('config'));
    writeFileSync(directory.join('config/capstan.yaml'), manifests.find(({ kind }) => kind === 'ConfigMap')!.data!['capstan.yaml']!);
    await succeed(
      ...['run', '--detach', '--name', 'up', '--network', 'host', ...confined],
      ...['--volume', `${directory.join('config')}:/etc/capstan/config:ro`, image],
      ...podOf(manifests).containers[0]!.args,
    );
    await expect.poll(() => logs('up'), { timeout: 30_000 }).toContain(`Capstan is ready at https://127.0.0.1:${port}`);
    expect(await probe(port, '/livez')).toBe(200);
    expect(await probe(port, '/readyz')).toBe(200);
    expect(await probe(port, '/api/v1/namespaces')).toBe(403);

    const kubeconfig = directory.join('admin.kubeconfig');
    writeFileSync(kubeconfig, await succeed('exec', 'up', ...kubeconfigCommand()));
    const environment = { HOME: directory.path };
    expect(await output(kubectl, ['--kubeconfig', kubeconfig, 'create', 'namespace', 'kept'], { environment })).toContain('created');
    await succeed('restart', 'up');
    await expect
      .poll(async () => (await run(kubectl, ['--kubeconfig', kubeconfig, 'get', 'namespace', 'kept'], { environment })).stdout, {
        timeout: 30_000,
      })
      .toContain('Active');
    await succeed('cp', 'up:/var/lib/capstan/pki', directory.path);
    await succeed('stop', 'up');
    expect(await succeed('inspect', '--format', '{{.State.ExitCode}}', 'up')).toBe('0\n');
  });

  test('gives replicas the keys of the Secret', async () => {
    const { stdout } = await new OfflineHelm(helm, directory.path).template(['pki.existingSecret=keys']);
    const { command, args } = podOf(loadAll(stdout) as Manifest[]).initContainers![0]!;
    const [program, ...rest] = [...command!, ...args];
    // Kubernetes lets the pod's group read a Secret.
    await output('chmod', ['-R', 'a+rX', directory.join('pki')]);
    const volumes = ['--volume', `${directory.join('pki')}:/etc/capstan/pki:ro`, '--volume', 'replica:/var/lib/capstan'];
    await succeed(
      'run',
      '--detach',
      '--name',
      'keys',
      '--network',
      'none',
      ...confined,
      ...volumes,
      '--entrypoint',
      program!,
      image,
      ...rest,
    );
    await expect.poll(() => succeed('inspect', '--format', '{{.State.Status}} {{.State.ExitCode}}', 'keys')).toMatch(/^(stopped|exited) 0/);
    await succeed('cp', 'keys:/var/lib/capstan/pki', directory.join('replica'));
    for (const name of ['ca.crt', 'ca.key', 'sa.key', 'signer.crt', 'signer.key'])
      expect(readFileSync(directory.join('replica', name), 'utf8')).toBe(readFileSync(directory.join('pki', name), 'utf8'));
  });
});

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template: { readonly spec: Pod } };
}

interface Pod {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

interface Container {
  readonly command?: readonly string[];
  readonly args: readonly string[];
}

function podOf(manifests: readonly Manifest[]): Pod {
  return manifests.find(({ kind }) => kind === 'StatefulSet')!.spec!.template.spec;
}

/** The command that the chart's notes give for reading the administrator's kubeconfig. */
function kubeconfigCommand(): string[] {
  const script = /node --print "(fs[^"]+)"/.exec(readFileSync(`${chart}/templates/NOTES.txt`, 'utf8'))?.[1];
  return ['node', '--print', script!];
}

/** As a kubelet does: without credentials, and without verifying the certificate. */
function probe(port: number, path: string): Promise<number | undefined> {
  return new Promise((done, fail) => {
    get({ host: '127.0.0.1', port, path, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      done(answer.statusCode);
    }).on('error', fail);
  });
}
