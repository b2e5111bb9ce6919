import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { run } from '@capstan/testbed';

const modules = resolve(import.meta.dirname, '../../../node_modules');

/** An npm registry with only the packages installed in this checkout, so that installation tests need no network. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The packages that were requested. */
  readonly asked: ReadonlySet<string>;
}

export async function startRegistry(directory: string): Promise<Registry> {
  const asked = new Set<string>();
  const packed = new Map<string, Promise<Buffer>>();
  const archiveOf = (name: string): Promise<Buffer> => {
    const known = packed.get(name) ?? pack(name, directory);
    packed.set(name, known);
    return known;
  };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const [name, archive] = path.split('/-/') as [string, string | undefined];
    asked.add(name);
    const answer = archive === undefined ? packument(name, url) : archiveOf(name);
    answer.then(
      (body) => send(response, 200, body),
      (error: unknown) => send(response, 404, JSON.stringify({ error: String(error) })),
    );
  });
  const port = await new Promise<number>((done) => server.listen(0, '127.0.0.1', () => done((server.address() as { port: number }).port)));
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  response.writeHead(status).end(body);
}

async function packument(name: string, url: string): Promise<string> {
  const manifest = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as { version: string };
  const { version } = manifest;
  const dist = { tarball: `${url}${name}/-/${version}.tgz` };
  return JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } });
}

async function pack(name: string, directory: string): Promise<Buffer> {
  const archive = join(directory, `${name.replace('/', '-')}.tgz`);
  // Barely compressed: one of them is a whole Node.
  const command = 'tar --create --transform "s,^[.],package," --directory "$1" . | gzip -1 > "$2"';
  const packed = await run('sh', ['-c', command, 'sh', join(modules, name), archive]);
  if (packed.code !== 0) throw new Error(packed.stderr);
  return readFileSync(archive);
}
