import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { output } from '../command.ts';
import { temporaryDirectory } from '../temporary.ts';

export interface ImageDescription {
  /** All names of the image, with registry and tag. Nothing is fetched from that registry. */
  readonly names: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly directory?: string;
  readonly environment?: readonly string[];
  readonly user?: string;
  /** Folders that engines keep apart from the layer of a container. */
  readonly volumes?: readonly string[];
  /** Text files, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Executable scripts, by path. */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Programs of this machine that need no libraries, by path in the image. */
  readonly programs?: Readonly<Record<string, string>>;
  /** The same, but they run as root, whoever starts them. */
  readonly setuidPrograms?: Readonly<Record<string, string>>;
}

/** Builds an image from a static busybox and further files, without a registry: an OCI archive that `ctr images import` accepts. */
export async function buildImage(busybox: string, description: ImageDescription, archive: string): Promise<void> {
  await buildImages(busybox, [description], archive);
}

/** The same, for several images in one archive. */
export async function buildImages(busybox: string, descriptions: readonly ImageDescription[], archive: string): Promise<void> {
  using work = temporaryDirectory('image');
  const layout = work.join('layout');
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const manifests: object[] = [];
  const loadable: object[] = [];
  for (const description of descriptions) {
    using parts = temporaryDirectory('layer');
    const { manifest, config, layer } = putImage(layout, description, await layerOf(busybox, description, parts.path));
    manifests.push(...description.names.map((name) => ({ ...manifest, annotations: { 'io.containerd.image.name': name } })));
    const fileOf = ({ digest }: Blob): string => `blobs/${digest.replace(':', '/')}`;
    loadable.push({ Config: fileOf(config), RepoTags: description.names, Layers: [fileOf(layer)] });
  }
  // Docker before version 25 loads its own format only.
  writeFileSync(join(layout, 'manifest.json'), json(loadable));
  writeFileSync(join(layout, 'index.json'), json({ schemaVersion: 2, manifests }));
  writeFileSync(join(layout, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
  await output('tar', ['-cf', archive, '-C', layout, '.']);
}

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

/** Writes the parts of an image to an OCI layout, and returns their descriptions. */
function putImage(layout: string, description: ImageDescription, content: Buffer): Readonly<Record<'manifest' | 'config' | 'layer', Blob>> {
  const { entrypoint, command, directory = '/', environment = [], user = '' } = description;
  const settings = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin:/sbin', ...environment],
      WorkingDir: directory,
      User: user,
      ...(entrypoint && { Entrypoint: entrypoint }),
      ...(command && { Cmd: command }),
      ...(description.volumes && { Volumes: Object.fromEntries(description.volumes.map((path) => [path, {}])) }),
    },
    rootfs: { type: 'layers', diff_ids: [digestOf(content)] },
  };
  const put = (bytes: Buffer, mediaType: string): Blob => {
    const digest = digestOf(bytes);
    writeFileSync(join(layout, 'blobs', digest.replace(':', '/')), bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const config = put(json(settings), 'application/vnd.oci.image.config.v1+json');
  const layer = put(content, 'application/vnd.oci.image.layer.v1.tar');
  return { manifest: put(json({ schemaVersion: 2, mediaType, config, layers: [layer] }), mediaType), config, layer };
}

/** One layer with busybox under all its names, and the files. */
async function layerOf(busybox: string, description: ImageDescription, work: string): Promise<Buffer> {
  const { files = {}, scripts = {}, programs = {}, setuidPrograms = {} } = description;
  const root = join(work, 'root');
  const place = (path: string): string => {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true });
    return target;
  };
  copyProgram(busybox, place('bin/busybox'));
  for (const name of (await output(busybox, ['--list'])).trim().split('\n'))
    if (name !== 'busybox' && name !== 'sh') symlinkSync('busybox', join(root, 'bin', name));
  // That of busybox ignores programs that have the name of one of its own, and variables whose names are none for a shell.
  copyProgram(join(dirname(busybox), 'bash-static'), place('bin/sh'));
  for (const directory of ['etc', 'proc', 'sys', 'dev', 'usr/local/bin']) mkdirSync(join(root, directory), { recursive: true });
  for (const directory of ['tmp', 'var/tmp']) {
    mkdirSync(join(root, directory), { recursive: true });
    chmodSync(join(root, directory), 0o1777);
  }
  const usual = { 'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n', 'etc/group': 'root:x:0:\n' };
  for (const [path, text] of Object.entries({ ...usual, ...files })) writeFileSync(place(path), text);
  for (const [path, text] of Object.entries(scripts)) writeFileSync(place(path), text, { mode: 0o755 });
  for (const [path, source] of Object.entries(programs)) copyProgram(source, place(path));
  for (const [path, source] of Object.entries(setuidPrograms)) copyProgram(source, place(path), 0o4755);
  const archive = join(work, 'layer.tar');
  await output('tar', ['--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--sort=name', '-cf', archive, '-C', root, '.']);
  return readFileSync(archive);
}

function copyProgram(source: string, target: string, mode = 0o755): void {
  copyFileSync(source, target);
  chmodSync(target, mode);
}

const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

/** Keeps the namespaces of a pod, reaps its orphans, and ends at once when it should. */
export const pauseImage: ImageDescription = {
  names: ['capstan.test/pause:1', 'registry.k8s.io/pause:3.10.1'],
  entrypoint: ['/bin/sh', '-c', "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait; done"],
};

export const busyboxImage: ImageDescription = {
  names: ['capstan.test/busybox:1'],
  command: ['sh'],
};
