import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { temporaryDirectory } from '../temporary.ts';

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
  const credentials = `Basic ${Buffer.from('user:word').toString('base64')}`;
  const server = createServer(({ url = '', headers }, response) => {
    const realm = `http://${headers.host}/token`;
    const refuse = (status: number, code: string): void => {
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(status === 401 && { 'www-authenticate': `Bearer realm="${realm}",service="test"` }),
      });
      response.end(JSON.stringify({ errors: [{ code, message: code.toLowerCase().replaceAll('_', ' ') }] }));
    };
    const { authorization } = headers;
    // As large registries do it: everybody gets a token, and it says what one may read.
    if (url.startsWith('/token')) {
      if (authorization !== undefined && authorization !== credentials) return refuse(401, 'UNAUTHORIZED');
      const token = authorization === undefined ? 'public' : 'secret';
      return void response.end(JSON.stringify({ token, access_token: token, expires_in: 300 }));
    }
    const [, repository, kind, name] = /^\/v2\/(unit|secret\/unit)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
    const isAllowed = authorization === 'Bearer secret' || (authorization === 'Bearer public' && !url.startsWith('/v2/secret/'));
    if (!isAllowed) return refuse(401, 'UNAUTHORIZED');
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
