import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { setGlobalProxyFromEnv } from 'node:http';
import { dirname, join } from 'node:path';
import { filesInArchive } from './archive.ts';
import { ModuleChecksum } from './checksum.ts';
import { pinned } from './pinned.ts';

const patience = 2 * 60_000;

/** Unpacks the pinned toolchain into a directory. Rejects, and leaves a part of it there, when it is not the one that was pinned. */
export async function fetchToolchain(directory: string): Promise<void> {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const expected = pinned.checksums.get(platform);
  if (expected === undefined) throw new Error(`none is pinned for ${platform}; install Go ${pinned.atLeast} or newer`);
  const version = `v0.0.1-go${pinned.version}.${platform}`;
  unpackToolchain(await download(`golang.org/toolchain/@v/${version}.zip`), { directory, version, expected });
}

export interface Unpacking {
  readonly directory: string;
  readonly version: string;
  readonly expected: string;
}

export function unpackToolchain(archive: Buffer, { directory, version, expected }: Unpacking): void {
  const prefix = `golang.org/toolchain@${version}/`;
  const checksum = new ModuleChecksum();
  for (const { name, content } of filesInArchive(archive)) {
    checksum.add(name, content);
    const path = name.slice(prefix.length);
    if (!name.startsWith(prefix) || path.split('/').includes('..')) throw new Error(`the archive of ${version} holds a stray ${name}`);
    place(join(directory, path), content);
    // An archive of a module has no bits for execution, and no go.mod of other modules: both are for whoever unpacks it.
    if (/^(bin|pkg\/tool)\//.test(path)) chmodSync(join(directory, path), 0o755);
    if (path.endsWith('/_go.mod')) place(join(directory, path.replace(/_go\.mod$/, 'go.mod')), content);
  }
  const found = checksum.digest();
  if (found !== expected) throw new Error(`the archive of ${version} has the checksum ${found}, expected ${expected}`);
}

function place(file: string, content: Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Asks the module proxies in the order of GOPROXY, and through the proxy of HTTPS_PROXY, as Go does. */
export async function download(path: string): Promise<Buffer> {
  const reasons: string[] = [];
  using _ = throughProxy();
  for (const { url, headers } of moduleProxies(process.env['GOPROXY'])) {
    try {
      const answer = await fetch(`${url}/${path}`, { headers, signal: AbortSignal.timeout(patience) });
      if (answer.ok) return Buffer.from(await answer.arrayBuffer());
      reasons.push(`${url} answers ${answer.status}`);
    } catch (error) {
      reasons.push(`${url}: ${describe(error)}`);
    }
  }
  throw new Error(
    reasons.join('; ') ||
      `the environment variable GOPROXY names no module proxy to fetch it from; set it, or install Go ${pinned.atLeast} or newer`,
  );
}

/** For as long as it is not disposed, and for all that this process fetches. */
function throughProxy(): Disposable {
  const restore = setGlobalProxyFromEnv();
  return { [Symbol.dispose]: restore };
}

export interface ModuleProxy {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The proxies that a value of GOPROXY names. Passwords go into a header: fetch takes no URL with one, and a message must not show it. */
export function moduleProxies(setting: string | undefined): ModuleProxy[] {
  return (setting ?? '')
    .split(/[,|]/)
    .filter((proxy) => /^https?:/.test(proxy.trim()))
    .map((proxy) => {
      const { origin, pathname, username, password } = new URL(proxy.trim());
      const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
      return { url: origin + pathname.replace(/\/+$/, ''), headers: username === '' ? {} : { authorization: `Basic ${secret}` } };
    });
}

/** fetch says only that it failed; why is in the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
