import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskParameters } from '@capstan/api';
import { ensurePki, type Pki } from '@capstan/pki';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ServedArtifacts } from '../artifacts.ts';
import type { TaskContext } from '../task-type.ts';
import { artifactFetch } from './artifact-fetch.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-artifact-fetch-'));
let pki: Pki;
let server: Server;
/** The ranges that were asked for. */
let ranges: (string | undefined)[] = [];
let answer: (from: number, response: ServerResponse) => void;
let steps: string[] = [];
let count = 0;
let folder: string;

beforeAll(async () => {
  pki = await ensurePki(join(directory, 'pki'));
  server = createServer({ cert: pki.serving.certificate, key: pki.serving.key }, ({ headers }, response) => {
    ranges.push(headers.range);
    answer(Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  [ranges, steps, answer] = [[], [], serve(content)];
  folder = join(directory, `node-${count++}`);
  mkdirSync(folder);
});

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const content = randomBytes(1 << 20);
const sha256 = hashOf(content);

/** Answers as an API server does; breaks the connection off after so many bytes. */
const serve =
  (bytes: Buffer, most = bytes.length) =>
  (from: number, response: ServerResponse): void => {
    const rest = bytes.subarray(from);
    if (from > 0 && rest.length === 0) return void response.writeHead(416).end();
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length });
    if (rest.length <= most) response.end(rest);
    else response.write(rest.subarray(0, most), () => response.socket?.destroy());
  };

const own = (): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

function typeFor(servers: () => readonly string[]) {
  const identity = () => ({
    authority: pki.authority.certificate,
    certificate: pki.serving.certificate,
    key: pki.serving.key,
  });
  return artifactFetch(new ServedArtifacts({ identity, servers, backoff: { base: 1, max: 5 } }));
}

const abort = new AbortController();
const context = { step: (text: string) => void steps.push(text), signal: abort.signal } as unknown as TaskContext;
const parameters = (more: Partial<TaskParameters<'artifactFetch'>> = {}) =>
  ({ sha256, path: join(folder, 'a/b/tool'), mode: '0755', unpack: 'none', ...more }) as never;
const type = typeFor(() => [own()]);

describe('artifact.fetch', () => {
  test('brings a file with its mode, once', async () => {
    expect(await type.check(parameters(), context)).toBe(false);
    await type.run(parameters(), context);
    expect(readFileSync(join(folder, 'a/b/tool')).equals(content)).toBe(true);
    expect(statSync(join(folder, 'a/b/tool')).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(folder, 'a/b'))).toEqual(['tool']);
    expect(await type.check(parameters(), context)).toBe(true);
    expect(await type.check(parameters({ mode: '0644' }), context)).toBe(false);
    writeFileSync(join(folder, 'a/b/tool'), 'changed');
    expect(await type.check(parameters(), context)).toBe(false);
  });

  test('goes on where a connection was cut, and shows nothing before all has arrived', async () => {
    answer = (from, response) => {
      expect(existsSync(join(folder, 'a/b/tool'))).toBe(false);
      serve(content, 400_000)(from, response);
    };
    await type.run(parameters(), context);
    expect(readFileSync(join(folder, 'a/b/tool')).equals(content)).toBe(true);
    expect(ranges[0]).toBeUndefined();
    expect(ranges.length).toBeGreaterThan(1);
    const starts = ranges.slice(1).map((range) => Number(/\d+/.exec(range ?? '')?.[0]));
    expect(starts.every((start, index) => start > (starts[index - 1] ?? 0))).toBe(true);
    expect(steps.some((step) => step.includes('again from byte'))).toBe(true);
  });

  test('goes on with what an agent before it has left', async () => {
    writeFileSync(join(folder, `.${sha256}.capstan-part`), content.subarray(0, 1000));
    await type.run(parameters({ path: join(folder, 'tool') }), context);
    expect(ranges).toEqual(['bytes=1000-']);
    expect(readFileSync(join(folder, 'tool')).equals(content)).toBe(true);
  });

  test('checks what an agent before it had downloaded as a whole', async () => {
    writeFileSync(join(folder, `.${sha256}.capstan-part`), content);
    await type.run(parameters({ path: join(folder, 'tool') }), context);
    expect(readFileSync(join(folder, 'tool')).equals(content)).toBe(true);
  });

  test('refuses a file with another hash, and keeps the one that is there', async () => {
    answer = serve(Buffer.from('something else'));
    const path = join(folder, 'tool');
    writeFileSync(path, 'old');
    await expect(type.run(parameters({ path }), context)).rejects.toMatchObject({ code: 'ChecksumMismatch' });
    expect(readdirSync(folder)).toEqual(['tool']);
    expect(readFileSync(path, 'utf8')).toBe('old');
  });

  test('asks the next server, and says what is missing if none has the artifact', async () => {
    const others = typeFor(() => ['https://127.0.0.1:1', own()]);
    await others.run(parameters(), context);
    answer = (_from, response) => void response.writeHead(404).end();
    const missing = parameters({ sha256: 'a'.repeat(64) });
    await expect(type.run(missing, context)).rejects.toMatchObject({
      code: 'UnknownArtifact',
      message: expect.stringContaining('capstan artifact add'),
    });
  });

  test('ends with its signal', async () => {
    const stop = new AbortController();
    answer = (_from, response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('x', () => stop.abort(new Error('cancelled')));
    };
    await expect(type.run(parameters(), { ...context, signal: stop.signal })).rejects.toThrow('cancelled');
    expect(existsSync(join(folder, 'a/b/tool'))).toBe(false);
  });
});

describe.skipIf(process.getuid?.() !== 0)('artifact.fetch on a full disk', () => {
  test('says so, and leaves the room to others', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]);
    try {
      await expect(type.run(parameters({ path: join(folder, 'tool') }), context)).rejects.toMatchObject({ code: 'DiskFull' });
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      execFileSync('umount', ['-l', folder]);
    }
  });

  test('says so when the archive does not fit unpacked', async () => {
    const archive = archiveOf({ large: '\0'.repeat(1 << 20) });
    answer = serve(archive);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]);
    try {
      const wanted = parameters({ sha256: hashOf(archive), path: join(folder, 'tree'), unpack: 'tar.gz' });
      await expect(type.run(wanted, context)).rejects.toMatchObject({ code: 'DiskFull' });
      expect(existsSync(join(folder, 'tree'))).toBe(false);
    } finally {
      execFileSync('umount', ['-l', folder]);
    }
  });
});

/** A gzipped tar archive with these files. */
function archiveOf(files: Readonly<Record<string, string>>): Buffer {
  const source = mkdtempSync(join(directory, 'archive-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  return execFileSync('tar', ['-czf', '-', '-C', source, ...Object.keys(files)]);
}

describe('artifact.fetch that unpacks', () => {
  test('replaces the folder as a whole', async () => {
    const path = join(folder, 'tree');
    for (const [name, text] of [
      ['one', 'first'],
      ['two', 'second'],
    ] as const) {
      const archive = archiveOf({ [name]: text });
      answer = serve(archive);
      const wanted = parameters({ sha256: hashOf(archive), path, unpack: 'tar.gz' });
      expect(await type.check(wanted, context)).toBe(false);
      await type.run(wanted, context);
      expect(await type.check(wanted, context)).toBe(true);
      expect(readdirSync(path).sort()).toEqual(['.capstan-artifact', name]);
      expect(readFileSync(join(path, name), 'utf8')).toBe(text);
      expect(readdirSync(folder)).toEqual(['tree']);
    }
  });

  test('never replaces a folder of somebody else', async () => {
    writeFileSync(join(folder, 'file'), 'theirs');
    const wanted = parameters({ path: folder, unpack: 'tar.gz' });
    await expect(type.run(wanted, context)).rejects.toMatchObject({ code: 'InvalidParameters' });
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('theirs');
    expect(ranges).toEqual([]);
  });

  test('keeps the folder that is there if the archive is broken', async () => {
    const path = join(folder, 'tree');
    const wanted = parameters({ path, unpack: 'tar.gz' });
    await expect(type.run(wanted, context)).rejects.toMatchObject({ code: 'CommandFailed', message: expect.stringContaining('unpacked') });
    expect(existsSync(path)).toBe(false);
  });
});
