import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Artifact, ArtifactPartStored } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findArtifact } from './artifacts.ts';
import { uploadArtifact } from './upload.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-cli-artifacts-'));
let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startTestServer();
  client = new Client(connectionOf(loadKubeconfig({ path: join(server.directory, 'admin.kubeconfig') }), 'capstan'), { userAgent: 'test' });
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

describe('an upload', () => {
  test('sends a file in parts', async () => {
    const file = join(directory, 'file');
    const content = randomBytes(2500);
    writeFileSync(file, content);
    const progress: number[] = [];
    const { sha256, size } = await uploadArtifact(client.under('/'), file, {
      name: 'file',
      partSize: 1000,
      onProgress: (sent) => void progress.push(sent),
    });
    expect([size, progress]).toEqual([2500, [1000, 2000]]);
    expect((await server.call(`/capstan/artifacts/${sha256}`)).body.equals(content)).toBe(true);
    // It is there already.
    expect(await uploadArtifact(client.under('/'), file, { name: 'file' })).toEqual({ sha256, size });
  });

  test('goes on where an earlier one was cut', async () => {
    const file = join(directory, 'resumed');
    writeFileSync(file, randomBytes(2500));
    const offsets: string[] = [];
    let calls = 0;
    const cutting = {
      json: async (call: { path: string }) => {
        offsets.push(new URLSearchParams(call.path.split('?')[1]).get('offset') ?? '');
        if (++calls === 3) throw new Error('cut');
        return client.under('/').json<ArtifactPartStored>(call as never);
      },
    } as unknown as Client;
    await expect(uploadArtifact(cutting, file, { name: 'x', partSize: 1000 })).rejects.toThrow('cut');
    await uploadArtifact(cutting, file, { name: 'x', partSize: 1000 });
    expect(offsets).toEqual(['0', '1000', '2000', '0', '2000']);
  });

  test('of an empty file', async () => {
    const file = join(directory, 'empty');
    writeFileSync(file, '');
    expect(await uploadArtifact(client.under('/'), file, { name: 'empty' })).toMatchObject({ size: 0 });
  });
});

describe('an artifact is found', () => {
  const artifact = (name: string, letter: string): Artifact => ({ name, sha256: letter.repeat(64), size: 1, addedAt: '' });
  const all = [artifact('a', 'a'), artifact('b', 'b'), artifact('b', 'c')];

  test('by its name, or the beginning of its SHA-256', () => {
    expect(findArtifact(all, 'a').name).toBe('a');
    expect(findArtifact(all, 'cccccccc').sha256).toBe('c'.repeat(64));
  });

  test('unless there are none or several', () => {
    expect(() => findArtifact(all, 'b')).toThrow('2 artifacts are called b');
    expect(() => findArtifact(all, 'ccc')).toThrow('there is no artifact ccc');
  });
});
