import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { setGlobalProxyFromEnv } from 'node:http';
import { dirname, join } from 'node:path';
import { filesInArchive } from './archive.ts';
import { ModuleChecksum } from './checksum.ts';
import { pinned } from './pinned.ts';

const patience = 2 * 60_000;

/** Unpacks the pinned toolchain into a directory. Rejects, leaving a part of it there, if it is not the pinned one. */
export async function fetchToolchain(directory: string): Promise<void> {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const expected = pinned.checksums.get(platform);
  if (expected === undefined) throw new Error(`no toolchain is pinned for ${platform}; install Go ${pinned.atLeast} or newer`);
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
    if (!name.startsWith(prefix) || path.split('/').includes('..')) throw new Error(`the archive of ${version} contains a stray ${name}`);
    place(join(directory, path), content);
    // A module archive has no executable bits, and no go.mod of nested modules: restore both.
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

/** Asks the module proxies in the order of GOPROXY, through the proxy of HTTPS_PROXY, as Go does. */
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
    reasons.join('; ') || `the environment variable GOPROXY does not name a module proxy; set it, or install Go ${pinned.atLeast} or newer`,
  );
}

/** Applies to all fetches of this process until it is disposed. */
function throughProxy(): Disposable {
  const restore = setGlobalProxyFromEnv();
  return { [Symbol.dispose]: restore };
}

export interface ModuleProxy {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The proxies in a value of GOPROXY. Passwords are moved to a header: fetch rejects URLs with one, and messages must not show it. */
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

/** fetch only says that it failed; its cause says why. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
