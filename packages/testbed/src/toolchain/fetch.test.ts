import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { temporaryDirectory } from '../temporary.ts';
import { filesInArchive } from './archive.ts';
import { ModuleChecksum } from './checksum.ts';
import { download, moduleProxies, unpackToolchain } from './fetch.ts';

afterEach(() => vi.unstubAllEnvs());

const version = 'v0.0.1-go1.2.3.linux-amd64';
const prefix = `golang.org/toolchain@${version}/`;
const files = { 'bin/go': 'a program', 'src/_go.mod': 'module std', 'src/a.go': 'package a\n'.repeat(100) };
const archive = zip(Object.entries(files).map(([name, text]) => [prefix + name, text]));
// Computed by another program: the hash of the lines that sha256sum prints for the files, in base64.
const expected = 'h1:frgQjTBzvePNR8hp0MsisTH36BGyGj+wCorEuwKkZPY=';

describe('toolchain archives', () => {
  test('contain stored and compressed files', () => {
    const read = [...filesInArchive(archive)].map(({ name, content }) => [name, content.toString()]);
    expect(read).toEqual(Object.entries(files).map(([name, text]) => [prefix + name, text]));
  });

  test('are rejected if they are not zip archives', () => {
    expect(() => [...filesInArchive(Buffer.from('<html>this page is not the one that you look for</html>'))]).toThrow(
      'expected a zip archive, found 55 bytes without a zip directory',
    );
  });

  test('are unpacked ready to run: programs are executable, and modules have their go.mod', () => {
    using directory = temporaryDirectory('toolchain');
    unpackToolchain(archive, { directory: directory.path, version, expected });
    expect(readFileSync(directory.join('src/a.go'), 'utf8')).toBe(files['src/a.go']);
    expect(readFileSync(directory.join('src/go.mod'), 'utf8')).toBe('module std');
    expect(statSync(directory.join('bin/go')).mode & 0o111).toBe(0o111);
    expect(statSync(directory.join('src/a.go')).mode & 0o111).toBe(0);
  });

  test('are rejected if they differ from the pinned one', () => {
    using directory = temporaryDirectory('toolchain');
    const other = zip([[`${prefix}bin/go`, 'another program']]);
    expect(() => unpackToolchain(other, { directory: directory.path, version, expected })).toThrow(`expected ${expected}`);
  });

  test.each(['elsewhere/bin/go', `${prefix}../../go`])('never write outside the directory: %s', (name) => {
    using directory = temporaryDirectory('toolchain');
    expect(() => unpackToolchain(zip([[name, '']]), { directory: directory.join('go'), version, expected })).toThrow('contains a stray');
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

test('computes a checksum that does not depend on the order of the files', () => {
  const [forth, back] = [new ModuleChecksum(), new ModuleChecksum()];
  for (const [name, text] of Object.entries(files)) forth.add(prefix + name, Buffer.from(text));
  for (const [name, text] of Object.entries(files).reverse()) back.add(prefix + name, Buffer.from(text));
  expect([forth.digest(), back.digest()]).toEqual([expected, expected]);
});

test.each([
  [undefined, []],
  ['https://one.example/go/,direct', ['https://one.example/go']],
  ['https://one.example|http://two.example', ['https://one.example', 'http://two.example']],
  ['off', []],
])('reads the proxies of GOPROXY=%s', (setting, urls) => {
  expect(moduleProxies(setting).map(({ url }) => url)).toEqual(urls);
});

test('sends a password in a header, not in the URL', () => {
  expect(moduleProxies('https://jane:p%40ss@one.example')).toEqual([
    { url: 'https://one.example', headers: { authorization: `Basic ${Buffer.from('jane:p@ss').toString('base64')}` } },
  ]);
});

/** A zip archive in which the first file is stored and the others are compressed. */
function zip(entries: readonly (readonly [string, string])[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  for (const [index, [name, text]] of entries.entries()) {
    const content = index === 0 ? Buffer.from(text) : deflateRawSync(text);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(index === 0 ? 0 : 8, 10);
    entry.writeUInt32LE(content.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(Buffer.concat(parts).length, 42);
    directory.push(entry, Buffer.from(name));
    const header = Buffer.alloc(30);
    header.writeUInt16LE(name.length, 26);
    parts.push(header, Buffer.from(name), content);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(parts).length, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

test('uses the proxy of HTTPS_PROXY, as npm and Go do', async () => {
  const origin = createServer((_, response) => response.end('archive'));
  const proxy = createServer();
  const asked: string[] = [];
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(request.url!);
    const upstream = connect((origin.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(upstream).pipe(socket);
    });
  });
  for (const server of [origin, proxy]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  for (const name of ['HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, '');
  vi.stubEnv('GOPROXY', 'http://modules.example');
  try {
    expect(String(await download('some/@v/v1.zip'))).toBe('archive');
    expect(asked).toEqual(['modules.example:80']);
  } finally {
    origin.close();
    proxy.close();
  }
});

test('says what to do without a module proxy', async () => {
  vi.stubEnv('GOPROXY', '');
  await expect(download('some/@v/v1.zip')).rejects.toThrow(
    'the environment variable GOPROXY does not name a module proxy; set it, or install Go 1.26.0 or newer',
  );
});
