import { cpSync, writeFileSync } from 'node:fs';
import { compileSchema, type JsonObject } from '@capstan/machinery';
import { buildCapstan, Child, capstanProgram, type EtcdCluster, freePort, run, startEtcd, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, ApiClient } from './apiserver-client.ts';

interface Quarantined {
  readonly metadata: {
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: JsonObject } }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[] };
}

await buildCapstan();

await describeWith(['etcd'], 'several API servers on one etcd', () => {
  const directory = temporaryDirectory('several');
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(async () => {
    await etcd[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const command = async (name: string, ...args: string[]): Promise<string[]> => [
    ...[capstanProgram, 'apiserver', '--data-dir', directory.join(name), '--port', String(await freePort())],
    ...['--etcd-endpoints', etcd.endpoints.join(','), ...args],
  ];
  const start = async (name: string, ...args: string[]): Promise<Child> => {
    const server = new Child(name, [process.execPath, ...(await command(name, ...args))]);
    await server.waitUntil('ready', () => server.output.includes('ready at'));
    return server;
  };
  const share = (from: string, to: string): void => cpSync(directory.join(from, 'pki'), directory.join(to, 'pki'), { recursive: true });
  const client = (name: string): ApiClient => new ApiClient(directory.join(name, 'admin.kubeconfig'));
  const urlOf = ({ output }: Child): string => /ready at (\S+)/.exec(output)![1]!;
  const shardUrl = async (asked: ApiClient): Promise<string> => {
    const { body } = await asked.ask('GET', '/apis/core.kcp.io/v1alpha1/shards/root');
    return (JSON.parse(body) as { spec: { externalURL: string } }).spec.externalURL;
  };

  test('rejects a server with other keys, and tells it how to share them', async () => {
    await using first = await start('first');
    const refused = await run(process.execPath, await command('stranger'), { timeout: 30_000 });
    expect([refused.code, refused.stderr]).toEqual([
      10,
      expect.stringContaining(`another API server uses this store with other keys: ${urlOf(first)}`),
    ]);
    expect(refused.stderr).toContain(
      `replace ${directory.join('stranger', 'pki')} by a copy of that server's pki folder (ca.crt and ca.key, signer.crt and signer.key, sa.key differ)`,
    );
    share('first', 'second');
    await using second = await start('second');
    expect(urlOf(second)).not.toBe(urlOf(first));
  });

  test('keeps one of two servers that start at once with different keys', async () => {
    const [one, two] = await Promise.all(
      ['early', 'late'].map(async (name) => new Child(name, [process.execPath, ...(await command(name))])),
    );
    await using first = one!;
    await using second = two!;
    const settled = (server: Child): Promise<unknown> =>
      Promise.race([server.exited, server.waitUntil('ready', () => server.output.includes('ready at')).catch(() => {})]);
    await Promise.all([settled(first), settled(second)]);
    const codes = await Promise.all(
      [first, second].map(async (server) => (server.output.includes('ready at') ? 'ready' : (await server.exited).code)),
    );
    expect(codes).toHaveLength(2);
    expect(codes).toEqual(expect.arrayContaining([10, 'ready']));
  });

  test('accepts the tokens and continue tokens of one server on another, and corrects the URL of a server that has ended', async () => {
    share('first', 'third');
    const first = await start('first');
    await using third = await start('third');
    using asked = client('first');
    using other = client('third');
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
    await asked.ask('POST', accounts, { type: 'application/json', value: account });
    const { body } = await asked.ask('POST', `${accounts}/robot/token`, {
      type: 'application/json',
      value: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    const { token } = (JSON.parse(body) as { status: { token: string } }).status;
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const reviewed = await other.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { type: 'application/json', value: review });
    expect((JSON.parse(reviewed.body) as { status: object }).status).toMatchObject({ authenticated: true });
    expect(await shardUrl(other)).toBe(urlOf(first));
    const audit = async (at: ApiClient, query: string) =>
      JSON.parse((await at.ask('GET', `/capstan/audit?limit=1&verb=create&${query}`)).body) as {
        metadata: { continue?: string };
        items: { objectRef: { resource: string; subresource?: string } }[];
      };
    const page = await audit(asked, 'resource=serviceaccounts');
    const next = await audit(other, `resource=serviceaccounts&continue=${page.metadata.continue}`);
    expect([page, next].flatMap(({ items }) => items.map(({ objectRef }) => objectRef.subresource ?? ''))).toEqual(['token', '']);
    await first.stop();
    await third.waitUntil('its own URL in the Shard', async () => (await shardUrl(other)) === urlOf(third));
  });

  test('lets a server that has something in quarantine say so, and the others leave it at that', async () => {
    await using _first = await start('first');
    share('first', 'guarded');
    const guarded = await start('guarded');
    using asked = client('first');
    const post = (path: string, value: object): Promise<Answer> => asked.ask('POST', path, { type: 'application/json', value });
    const read = async (path: string) => JSON.parse((await asked.ask('GET', path)).body) as Quarantined;
    const admission = '/apis/admissionregistration.k8s.io/v1';
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['secrets'] }];
    const paths = ['validatingadmissionpolicies', 'validatingwebhookconfigurations'].map((kind) => `${admission}/${kind}`);
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await post(paths[0]!, {
      metadata: { name: 'slow' },
      spec: { matchConstraints: { resourceRules }, validations: [{ expression: 'true' }] },
    });
    await post(paths[1]!, { metadata: { name: 'slow' } });
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-validations': [{ rule: 'true' }] } };
    await post(definitions, {
      metadata: { name: 'slows.example.com' },
      spec: {
        group: 'example.com',
        names: { plural: 'slows', kind: 'Slow' },
        scope: 'Cluster',
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    const objects = [`${paths[0]}/slow`, `${paths[1]}/slow`, `${definitions}/slows.example.com`];
    const [policy, webhooks, definition] = await Promise.all(objects.map(read));
    const { hash } = compileSchema(definition!.spec!.versions[0]!.schema.openAPIV3Schema);
    await guarded.stop();
    const since = new Date().toISOString();
    const identities = [policy, webhooks].map((one, index) => {
      const { uid, generation } = one!.metadata;
      return `${['policy', 'webhooks'][index]} ${uid} ${generation}`;
    });
    const held = [...identities, `schema ${hash}`].map((identity) => ({ identity, name: 'slow', since }));
    writeFileSync(directory.join('guarded', 'quarantine.json'), JSON.stringify(held));
    await using _guarded = await start('guarded');
    const said = (object: Quarantined): string =>
      object.metadata.annotations?.['capstan.dev/quarantined'] ??
      object.status?.conditions?.find(({ type, status }) => type === 'Quarantined' && status === 'True')?.message ??
      '';
    const all = async (): Promise<Quarantined[]> => Promise.all(objects.map(read));
    await expect.poll(async () => (await all()).map(said), { timeout: 10_000 }).toEqual(held.map(() => expect.stringContaining(since)));
    const before = (await all()).map(({ metadata }) => metadata.resourceVersion);
    // Both servers see these writes after whatever they answered to each other.
    for (let index = 0; index < 20; index++) await post('/api/v1/namespaces/default/configmaps', { metadata: { generateName: 'c-' } });
    expect((await all()).map(({ metadata }) => metadata.resourceVersion)).toEqual(before);
  });

  test('rotates the authority of servers one after another, and starts them in neighbouring phases', async () => {
    const authority = (name: string, step: string) =>
      run(process.execPath, [capstanProgram, 'authority', step, '--data-dir', directory.join(name)], { timeout: 30_000 });
    const taken = async (server: Child, name: string, step: string): Promise<void> => {
      expect(await authority(name, step)).toMatchObject({ code: 0 });
      const phase = step === 'retire' ? 'standby' : step;
      await server.waitUntil(phase, () => server.output.includes(`the authority is in the phase ${phase}`));
    };
    const isServed = async (name: string): Promise<boolean> => {
      using asked = client(name);
      return (await asked.ask('GET', '/api/v1/namespaces')).status === 200;
    };
    share('first', 'fourth');
    await using first = await start('first');
    await taken(first, 'first', 'prepare');
    // In the phase standby.
    await (await start('fourth')).stop();
    cpSync(directory.join('first', 'pki', 'rotation.json'), directory.join('fourth', 'pki', 'rotation.json'));
    await taken(first, 'first', 'switch');
    // In the phase prepare.
    await using fourth = await start('fourth');
    expect([await isServed('first'), await isServed('fourth')]).toEqual([true, true]);
    expect(await authority('first', 'retire')).toMatchObject({
      code: 15,
      stderr: expect.stringContaining(`API server ${urlOf(fourth)}, which is in the phase prepare`),
    });
    await taken(fourth, 'fourth', 'switch');
    await first.waitUntil('the Lease of the other', async () => !(await authority('first', 'status')).stdout.includes('API server http'));
    await taken(first, 'first', 'retire');
    await taken(fourth, 'fourth', 'retire');
    expect([await isServed('first'), await isServed('fourth')]).toEqual([true, true]);
    // With the old authority.
    share('third', 'fifth');
    expect((await run(process.execPath, await command('fifth'), { timeout: 30_000 })).code).toBe(10);
  });
});
