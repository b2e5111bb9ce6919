import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { answersReady, type Child, freePort, output, readConnection, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readGuide } from './guide.ts';
import { buildRelease, LongCommand, outsideEnvironment, shell } from './outside.ts';
import { type Registry, startRegistry } from './registry.ts';

const root = resolve(import.meta.dirname, '../../..');
const stack = new AsyncDisposableStack();
const home = stack.use(temporaryDirectory('outside'));
let registry: Registry;
let environment: Record<string, string>;

beforeAll(async () => {
  mkdirSync(home.join('served'));
  registry = stack.use(await startRegistry(home.join('served')));
  environment = outsideEnvironment(home, registry);
  await buildRelease(home.path, 'libraries', 'command');
});
afterAll(() => stack.disposeAsync());

/** Runs a command that must succeed; returns its standard output. */
async function type(script: string, directory: string): Promise<string> {
  const { code, stdout, stderr } = await shell(script, { directory, environment });
  expect(code, `${script}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

describe("the command's package", () => {
  test('contains what the command needs and no more', async () => {
    const files = (await output('tar', ['--list', '--file', home.join('capstan-0.1.0.tgz')])).trim().split('\n');
    const page = String.raw`(index\.html|third-party-licenses\.txt|mark\.svg|assets\/[\w.-]+\.(js|css))(\.gz|\.br)?`;
    const built = String.raw`lib\/[\w-]+\.js|generated\/\w+\.json|third-party-licenses\.txt|adapters\/\w+\/scripts\/[\w-]+\.sh|console\/${page}`;
    const expected = new RegExp(String.raw`^package\/(package\.json|LICENSE|README\.md|bin\/(capstan|start\.mjs)|dist\/(${built}))$`);
    expect(files.filter((file) => !expected.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['package/bin/capstan', 'package/dist/lib/main.js', 'package/dist/generated/types.json']));
  });

  test('runs with npx, without installation', async () => {
    expect(await type('npx ./capstan-0.1.0.tgz version', home.path)).toMatch(/^capstan 0\.1\.0 \(.*Node 24\./);
  });

  test('puts capstan on the path when installed globally', async () => {
    await type('npm install --global ./capstan-0.1.0.tgz', home.path);
    expect(await type('PATH="$npm_config_prefix/bin:$PATH" && capstan version', home.path)).toMatch(/^capstan 0\.1\.0 /);
  });
});

await describeWith(['kubectl'], 'capstan up from the package', ({ kubectl }) => {
  test('serves kubectl', async () => {
    await using up = new LongCommand(
      'capstan up',
      ['npx', './capstan-0.1.0.tgz', 'up', '--data-dir', 'data', '--port', String(await freePort())],
      {
        directory: home.path,
        environment,
      },
    );
    await up.waitUntil('ready', () => up.output.includes('Capstan is ready'));
    expect(await output(kubectl, ['--kubeconfig', home.join('data/admin.kubeconfig'), 'get', 'namespaces', '--output', 'name'])).toContain(
      'namespace/kube-system',
    );
  });
});

await describeWith(['kubectl'], 'the guide to controllers, outside this repository', () => {
  const guide = readGuide('controllers.md');
  const command = (start: string): string => {
    const found = guide.commands.find((text) => text.startsWith(start));
    if (found === undefined) throw new Error(`expected the guide to have a command that starts with "${start}"`);
    return found;
  };
  const project = home.join('team-notes');
  const programs = new AsyncDisposableStack();
  let ports: Record<string, string>;
  /** Other programs on this machine may use the guide's ports. Nothing else is changed. */
  const withPorts = (text: string): string => text.replace(/\b(?:6443|16443|8081)\b/g, (port) => ports[port]!);

  beforeAll(async () => {
    ports = Object.fromEntries(await Promise.all(['6443', '16443', '8081'].map(async (port) => [port, String(await freePort())])));
  });
  afterAll(() => programs.disposeAsync());

  test('installs the packages from their files alone', async () => {
    await type(command('mkdir'), home.path);
    expect([...registry.asked].filter((name) => name.startsWith('@capstan') || name === 'capstan')).toEqual([]);
    for (const name of ['team-notes.js', 'main.js', 'team-notes.test.js'])
      writeFileSync(`${project}/${name}`, withPorts(guide.files.get(name)!));
  });

  test('runs the controller', async () => {
    const start = (name: string, script: string): Child =>
      programs.use(new LongCommand(name, ['sh', '-c', `exec ${withPorts(script)}`], { directory: project, environment }));
    const server = start('server', command('npx capstan apiserver'));
    await server.waitUntil(
      'ready',
      () => server.output.includes('ready at') && answersReady(readConnection(`${project}/data/admin.kubeconfig`)),
    );
    const [setting, run] = command('KUBECONFIG=').split(/ (.*)/s) as [string, string];
    const controller = start('controller', `env ${setting} ${run}`);
    await controller.waitUntil('leading', () => controller.output.includes('leading'));
    const [variable, create, label, get] = command('export KUBECONFIG').trim().split('\n') as [string, string, string, string];
    await type([variable, create, label].join('\n'), project);
    await expect.poll(async () => (await shell(`${variable}\n${get}`, { directory: project, environment })).stdout).toContain('team: blue');
    controller.signal('SIGTERM');
    expect(await controller.exited).toEqual({ code: 0, signal: null });
  });

  test('passes its test', async () => {
    expect(await type(command('node --test'), project)).toMatch(/pass 1\b/);
  });

  test("type-checks the same files strictly with the packages' declarations", async () => {
    for (const name of ['team-notes', 'main']) renameSync(`${project}/${name}.js`, `${project}/${name}.ts`);
    writeFileSync(`${project}/tsconfig.json`, guide.files.get('tsconfig.json')!);
    symlinkSync(resolve(root, 'node_modules/@types'), `${project}/node_modules/@types`);
    const strict = ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck', 'false'];
    expect(await output(resolve(root, 'node_modules/.bin/tsc'), ['--project', project, ...strict])).toBe('');
    const loaded = await type(`node --eval "import('./out/team-notes.js').then(({ teamNotes }) => console.log(teamNotes.name))"`, project);
    expect(loaded).toBe('team-notes\n');
    writeFileSync(`${project}/main.ts`, `import { Client } from '@capstan/client';\nnew Client(42);\n`);
    await expect(output(resolve(root, 'node_modules/.bin/tsc'), ['--project', project])).rejects.toThrow('TS2345');
  });
});
