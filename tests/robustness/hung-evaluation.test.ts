import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { type Answer, ApiClient } from './apiserver-client.ts';
import { evaluateIn } from './inspector.ts';

await buildCapstan();

const registration = '/apis/admissionregistration.k8s.io/v1';
/** Nobody else looks at this address. */
const fatal = '203.0.113.77';
/** As if there were a hole in the limits on steps: to check this address never ends. */
const hole = `{
  const { split } = String.prototype;
  String.prototype.split = function (...how) {
    if (String(this) === ${JSON.stringify(fatal)}) for (;;);
    return split.apply(this, how);
  };
}`;
const patiently = { timeout: 120_000, interval: 500 };

test('a server that hangs in a policy is started again, and does not evaluate it again', { timeout: 240_000 }, async () => {
  using directory = temporaryDirectory('hung-evaluation');
  const data = directory.join('data');
  await using up = new Child(
    'capstan up',
    [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(await freePort()), '--no-node'],
    { environment: { NODE_OPTIONS: '--inspect-port=0' } },
  );
  const isRunning = () => ['| controllers run against', '| platform controllers run against'].every((line) => up.output.includes(line));
  await up.waitUntil('controllers', isRunning);
  using client = new ApiClient(`${data}/admin.kubeconfig`);
  const post = (path: string, value: object): Promise<Answer> => client.ask('POST', path, { type: 'application/json', value });
  const make = (address: string): Promise<Answer> =>
    post('/api/v1/namespaces/default/configmaps', { metadata: { generateName: 'c-' }, data: { address } });
  const apiServer = async (): Promise<number> => {
    const { stdout } = await run(process.execPath, [capstanProgram, 'status', '--data-dir', data, '--output', 'json'], { timeout: 30_000 });
    return (JSON.parse(stdout) as { processes: { name: string; pid: number }[] }).processes.find(({ name }) => name === 'apiserver')!.pid;
  };

  await post(`${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'addresses' },
    spec: {
      matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }] },
      validations: [{ expression: '!has(object.data) || !has(object.data.address) || object.data.address.split(".").size() == 4' }],
    },
  });
  await post(`${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: 'addresses' },
    spec: { policyName: 'addresses', validationActions: ['Deny'] },
  });
  await expect.poll(async () => (await make('nonsense')).status, patiently).toBe(422);
  expect((await make('203.0.113.1')).status).toBe(201);

  await evaluateIn(await apiServer(), () => up.output, hole);
  await expect(make(fatal)).rejects.toThrow();
  await expect.poll(() => up.output, patiently).toContain('it was evaluating ValidatingAdmissionPolicy "addresses"');
  const answer = async (address: string): Promise<string> => {
    const { status, body } = await make(address).catch(() => ({ status: 0, body: '' }));
    return `${status} ${body}`;
  };
  for (const address of [fatal, '203.0.113.1'])
    await expect.poll(() => answer(address), patiently).toMatch(/^422 .*ValidatingAdmissionPolicy \\"addresses\\" is quarantined since/);
  const policy = await client.ask('GET', `${registration}/validatingadmissionpolicies/addresses`);
  expect(policy.body).toContain('"type":"Quarantined","status":"True"');
});
