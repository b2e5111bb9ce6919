import { utimesSync, writeFileSync } from 'node:fs';
import { kubeconfigText, temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { readConnection, withCurrentAuthority } from './kubeconfig.ts';

test('picks up a renewed certificate from the file after a while, or at once when the server rejects the old one', async () => {
  using directory = temporaryDirectory('kubeconfig');
  const path = directory.join('kubeconfig');
  const write = (certificate: string, second: number): void => {
    writeFileSync(path, kubeconfigText({ server: 'https://127.0.0.1:1', authority: 'ca', certificate, key: 'key' }));
    utimesSync(path, second, second);
  };
  let now = 0;
  write('first', 1);
  const { credentials } = readConnection(path, 'controller-manager', () => now);
  const current = async (): Promise<string> => String((await credentials.current()).certificate?.cert);
  expect(await current()).toBe('first');
  write('second', 2);
  expect(await current()).toBe('first');
  now = 60_000;
  expect(await current()).toBe('second');
  write('third', 3);
  credentials.refused?.(await credentials.current());
  expect(await current()).toBe('third');
  writeFileSync(path, 'half written');
  now = 200_000;
  expect(await current()).toBe('third');
});

test('says what to do when the file is missing', () => {
  expect(() => readConnection('/nowhere/kubeconfig', 'controller-manager')).toThrow(
    '/nowhere/kubeconfig does not exist. Start the API server first',
  );
});

test('runs again with the new authorities when the file names others, and not for a renewed certificate', async () => {
  using directory = temporaryDirectory('kubeconfig');
  const path = directory.join('kubeconfig');
  let second = 0;
  const write = (authority: string, certificate: string): void => {
    writeFileSync(path, kubeconfigText({ server: 'https://127.0.0.1:1', authority, certificate, key: 'key' }));
    second++;
    utimesSync(path, second, second);
  };
  write('old', 'a');
  const seen: string[] = [];
  const stop = new AbortController();
  await withCurrentAuthority({ path, processName: 'controller-manager', every: 1 }, stop.signal, async ({ ca }, signal) => {
    const authority = String(ca);
    seen.push(authority);
    if (authority === 'new') return stop.abort();
    write('old', 'b');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(signal.aborted).toBe(false);
    write('new', 'b');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  expect(seen).toEqual(['old', 'new']);
});

test('does not run again what ended on its own', async () => {
  using directory = temporaryDirectory('kubeconfig');
  const path = directory.join('kubeconfig');
  writeFileSync(path, kubeconfigText({ server: 'https://127.0.0.1:1', authority: 'ca', certificate: 'c', key: 'key' }));
  let runs = 0;
  await withCurrentAuthority({ path, processName: 'controller-manager' }, new AbortController().signal, async () => void runs++);
  expect(runs).toBe(1);
});
