import { readFileSync, writeFileSync } from 'node:fs';
import { buildCapstan, Child, capstanProgram, NetworkNamespace, output, requireTool, temporaryDirectory } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

await buildCapstan();

const problem = (await NetworkNamespace.problem()) ?? (await skipReason(['kubectl']));

describeUnless(problem, 'a server reachable from other machines', () => {
  const directory = temporaryDirectory('addresses');
  let network: NetworkNamespace;
  let kubectl: string;

  beforeAll(async () => {
    network = await NetworkNamespace.create(['192.0.2.10', '192.0.2.11']);
    kubectl = await requireTool('kubectl');
  });
  afterAll(async () => {
    await network[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const start = (...args: string[]): Child => new Child('capstan up', network.command(process.execPath, capstanProgram, 'up', ...args));
  const announced = (up: Child) => up.waitUntil('controllers', () => up.output.includes('controller-manager | controllers run against'));
  const call = (data: string, ...args: string[]): Promise<string> => {
    const [program, ...rest] = network.command(kubectl, '--kubeconfig', `${data}/admin.kubeconfig`, ...args);
    return output(program, rest, { environment: { HOME: directory.path }, timeout: 30_000 });
  };
  const serverIn = (data: string): Promise<string> =>
    call(data, 'config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}');
  const made = async (data: string, namespace: string): Promise<string> => {
    await call(data, 'create', 'namespace', namespace);
    // Only the controllers create it, so they reach the server too.
    return call(data, '-n', namespace, 'wait', '--for=create', 'serviceaccount/default', '--timeout=20s');
  };

  test('listens on one address, and kubectl and the controllers trust it', async () => {
    const data = directory.join('one');
    await using up = start('--data-dir', data, '--host', '192.0.2.11');
    await announced(up);
    expect(await serverIn(data)).toBe('https://192.0.2.11:6443');
    await made(data, 'a');
    expect(up.output).toContain('Capstan is ready at https://192.0.2.11:6443');
    expect(up.output).not.toContain('trying again');
  });

  describe('on every address', () => {
    const data = directory.join('all');
    const url = async (kind: string, name: string, path: string): Promise<string> =>
      call(data, 'get', kind, name, '-o', `jsonpath={${path}}`);

    test('advertises the address of the default route', async () => {
      await using up = start('--data-dir', data, '--host', '0.0.0.0');
      await announced(up);
      expect(await serverIn(data)).toBe('https://192.0.2.10:6443');
      await made(data, 'a');
      expect(readFileSync(`${data}/admin.kubeconfig`, 'utf8')).not.toContain('0.0.0.0');
      for (const server of ['https://192.0.2.11:6443', 'https://127.0.0.1:6443', 'https://localhost:6443'])
        expect(await call(data, '--server', server, 'get', '--raw', '/readyz')).toBe('ok');
      await call(data, 'create', '-f', workspaceFile());
      await call(data, 'wait', '--for=jsonpath={.status.phase}=Ready', 'workspace/team', '--timeout=20s');
      expect(await url('workspace', 'team', '.spec.URL')).toBe('https://192.0.2.10:6443/clusters/root:team');
      expect(await url('endpointslice', 'kubernetes', '.endpoints[*].addresses[*]')).toBe('192.0.2.10');
    });

    test('serves another address after a restart, with a new certificate and corrected URLs', async () => {
      const config = directory.join('capstan.yaml');
      writeFileSync(config, `dataDirectory: all\napiserver:\n  listen: { host: 0.0.0.0, port: 7443 }\n  advertise: 192.0.2.11\n`);
      await using up = start('--config', config);
      await announced(up);
      expect(await serverIn(data)).toBe('https://192.0.2.11:7443');
      await call(data, 'wait', '--for=jsonpath={.spec.URL}=https://192.0.2.11:7443/clusters/root:team', 'workspace/team', '--timeout=20s');
      expect(await url('shard', 'root', '.spec.virtualWorkspaceURL')).toBe('https://192.0.2.11:7443');
      await made(data, 'b');
    });

    test('adds an address that the machine gets at run time to its certificate', async () => {
      await using up = start('--data-dir', data, '--host', '0.0.0.0');
      await announced(up);
      await network.addAddress('192.0.2.12');
      await up.waitUntil('a new certificate', async () => {
        const [program, ...rest] = network.command(
          kubectl,
          '--kubeconfig',
          `${data}/admin.kubeconfig`,
          '--server',
          'https://192.0.2.12:6443',
          'get',
          '--raw',
          '/readyz',
        );
        return output(program, rest, { environment: { HOME: directory.path } }).then(
          (text) => text === 'ok',
          () => false,
        );
      });
    });
  });

  test('lets flags override the file, which also configures the controller-manager', async () => {
    const data = directory.join('flags');
    const config = directory.join('flags.yaml');
    writeFileSync(
      config,
      'dataDirectory: elsewhere\napiserver:\n  listen: { host: 192.0.2.10, port: 7000 }\ncontrollerManager:\n  listen: { port: 7001 }\n  controllers: ["*", "-namespace"]\n',
    );
    await using up = start('--config', config, '--data-dir', data, '--port', '7443');
    await announced(up);
    expect(await serverIn(data)).toBe('https://192.0.2.10:7443');
    expect(up.output).toContain('health at http://127.0.0.1:7001');
    await made(data, 'a');
    await call(data, 'delete', 'namespace', 'a', '--wait=false');
    expect(await call(data, 'get', 'namespace', 'a', '-o', 'jsonpath={.status.phase}')).toBe('Terminating');
  });

  function workspaceFile(): string {
    const file = directory.join('workspace.yaml');
    writeFileSync(file, 'apiVersion: tenancy.kcp.io/v1alpha1\nkind: Workspace\nmetadata: { name: team }\nspec: {}\n');
    return file;
  }
});
