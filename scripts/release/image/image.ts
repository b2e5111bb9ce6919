import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Entry, fileEntry, textEntry, treeEntries } from '@capstan/node-agent';
import { commandManifest } from '../npm/command.ts';
import { manifestOf, root } from '../place.ts';
import { imageArchive } from './layout.ts';
import { dataDirectory, imageUser, systemEntries } from './system.ts';

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * Writes the container image as an archive for `podman load`, `docker load` and `ctr images import`. The bundle must exist. Returns the
 * path.
 */
export function writeImage(output: string): string {
  const { version, description } = manifestOf('.');
  const architecture = architectures[process.arch];
  if (architecture === undefined)
    throw new Error(`expected to build the image on one of ${Object.keys(architectures).join(', ')}, found ${process.arch}`);
  const { archive, digest } = imageArchive({
    name: `localhost/capstan:${version}`,
    architecture,
    // In this order, an update of Capstan does not change the larger layer.
    layers: [systemEntries(), commandEntries()],
    created: new Date(Number(process.env['SOURCE_DATE_EPOCH'] ?? 0) * 1000),
    run: {
      User: `${imageUser}:${imageUser}`,
      // Node's compile cache is in a folder that stays writable if the rest is read-only.
      Env: ['PATH=/usr/local/bin', 'XDG_CACHE_HOME=/tmp'],
      Entrypoint: ['/usr/local/bin/capstan'],
      Cmd: ['up', '--data-dir', `/${dataDirectory}`, '--host', '0.0.0.0'],
      WorkingDir: `/${dataDirectory}`,
      Volumes: { [`/${dataDirectory}`]: {} },
      ExposedPorts: { '6443/tcp': {} },
      Labels: {
        'org.opencontainers.image.title': 'capstan',
        'org.opencontainers.image.description': description,
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
  });
  mkdirSync(output, { recursive: true });
  const path = join(output, `capstan-image-${version}-${architecture}.tar`);
  writeFileSync(path, archive);
  process.stdout.write(`localhost/capstan:${version} is ${digest}\n`);
  return path;
}

function commandEntries(): Entry[] {
  const home = 'opt/capstan';
  // The image contains no shell, so its program begins with the option that the launcher chooses.
  const launcher = readFileSync(join(root, 'apps/cli/bin/capstan'), 'utf8');
  const [option] = /--max-semi-space-size=\d+/.exec(launcher)!;
  const program = `#!/usr/local/bin/node ${option}\n${readFileSync(join(root, 'apps/cli/bin/start.mjs'), 'utf8')}`;
  return [
    { ...textEntry(`${home}/bin/capstan`, program), mode: 0o755 },
    textEntry(`${home}/package.json`, `${JSON.stringify(commandManifest(), undefined, 2)}\n`),
    fileEntry(join(root, 'LICENSE'), `${home}/LICENSE`),
    ...treeEntries(join(root, 'apps/cli/dist'), `${home}/dist`),
    { path: 'usr/local/bin/capstan', type: 'link', target: '/opt/capstan/bin/capstan' },
  ];
}
