import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { buildImage, requireTool, type TemporaryDirectory, temporaryDirectory } from '@capstan/testbed';

/** An image with busybox, a shell and Perl, in an archive that engines load. The text makes it another one. */
export async function buildUnitImage(name: string, archive: string, text = ''): Promise<void> {
  const busybox = join(`${await requireTool('containerd')}.tree`, 'bin/busybox');
  const command = ['/bin/sh', '-c', 'echo "from the image"'];
  await buildImage(busybox, { names: [name], command, files: { 'etc/note': text }, programs: perlFiles() }, archive);
}

function perlFiles(): Record<string, string> {
  const libraries = [...execFileSync('ldd', ['/usr/bin/perl'], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g)].map((match) => match[1]!);
  const modules = execFileSync('/usr/bin/perl', ['-MSocket', '-e', 'print $INC{"Socket.pm"}'], { encoding: 'utf8' });
  const files = readdirSync(dirname(modules), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(['/usr/bin/perl', ...libraries, ...files].map((file) => [file.slice(1), file]));
}

/** Podman with storage of its own, so that tests leave nothing on the machine. */
export function podmanEnvironment(directory: TemporaryDirectory, insecure: readonly string[] = []): Record<string, string> {
  const storage = directory.join('storage.conf');
  const registries = directory.join('registries.conf');
  writeFileSync(storage, `[storage]\ndriver = "overlay"\ngraphroot = "${directory.join('graph')}"\nrunroot = "${directory.join('run')}"\n`);
  writeFileSync(registries, insecure.map((location) => `[[registry]]\nlocation = "${location}"\ninsecure = true\n`).join('\n'));
  return { CONTAINERS_STORAGE_CONF: storage, CONTAINERS_REGISTRIES_CONF: registries };
}

/** Podman leaves mounts of its storage behind. */
export function deleteStorage(directory: TemporaryDirectory): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${directory.path}/`));
  for (const path of mounts.reverse()) execFileSync('umount', ['--lazy', path]);
  directory[Symbol.dispose]();
}

export interface TestRegistry extends AsyncDisposable {
  /** Host and port. */
  readonly host: string;
}

/**
 * A registry with one image in an archive: `HOST/unit` for everybody, and `HOST/secret/unit` with the name `user` and the password `word`. Everything
 * else is missing.
 */
export async function startRegistry(archive: string): Promise<TestRegistry> {
  const directory = temporaryDirectory('registry');
  execFileSync('tar', ['-xf', archive, '-C', directory.path]);
  const index = JSON.parse(readFileSync(directory.join('index.json'), 'utf8')) as { manifests: { digest: string; mediaType: string }[] };
  const manifest = index.manifests[0]!;
  const authorization = `Basic ${Buffer.from('user:word').toString('base64')}`;
  const server = createServer(({ url = '', headers }, response) => {
    const refuse = (status: number, code: string): void => {
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(status === 401 && { 'www-authenticate': 'Basic realm="test"' }),
      });
      response.end(JSON.stringify({ errors: [{ code, message: code.toLowerCase().replaceAll('_', ' ') }] }));
    };
    const [, repository, kind, name] = /^\/v2\/(unit|secret\/unit)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
    // Clients learn here how to authenticate.
    if ((url === '/v2/' || url.startsWith('/v2/secret/')) && headers.authorization !== authorization) return refuse(401, 'UNAUTHORIZED');
    if (url === '/v2/') return void response.end('{}');
    if (repository === undefined) return refuse(404, 'NAME_UNKNOWN');
    const digest = kind === 'manifests' && !name!.startsWith('sha256:') ? (name === '1' ? manifest.digest : undefined) : name;
    const file = digest && directory.join('blobs', digest.replace(':', '/'));
    if (file === undefined || !existsSync(file)) return refuse(404, 'MANIFEST_UNKNOWN');
    const content = readFileSync(file);
    response.writeHead(200, {
      'content-type': kind === 'manifests' ? manifest.mediaType : 'application/octet-stream',
      'content-length': content.length,
      'docker-content-digest': digest,
    });
    response.end(content);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      directory[Symbol.dispose]();
    },
  };
}
