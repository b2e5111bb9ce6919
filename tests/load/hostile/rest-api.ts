import { allocationKind, customResourceDefinition, gpuUnitKind } from '@capstan/api';
import { Child, type Connection, capstanProgram, freePort, temporaryDirectory } from '@capstan/testbed';
import { requestText } from '../client/connection.ts';
import { Pool } from '../client/pool.ts';
import { callsTo } from '../streams/fleet.ts';

const units = 500;
const products = '/apis/compute.capstan.dev/v1alpha1';

export const unitSpec = { running: false, resources: { cpu: 1 }, command: ['sleep', '1'] };

/** Defines allocations and units in a workspace, and makes some units. */
export async function makeProducts(address: Connection, cluster: string): Promise<void> {
  using server = callsTo(address);
  for (const kind of [allocationKind, gpuUnitKind]) {
    const path = `/clusters/${cluster}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
    const { code, text } = await server.call(path, { method: 'POST', body: customResourceDefinition(kind) });
    if (code !== 201) throw new Error(`${kind.resource} could not be defined: ${text}`);
    while ((await server.call(`/clusters/${cluster}${products}/${kind.resource}`)).code !== 200)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }
  using pool = await Pool.open(address, 8);
  const path = `/clusters/${cluster}${products}/namespaces/default/gpuunits`;
  const bodyOf = (index: number): string =>
    JSON.stringify({
      apiVersion: 'compute.capstan.dev/v1alpha1',
      kind: 'GPUUnit',
      metadata: { name: `unit-${index}` },
      spec: unitSpec,
    });
  const { errors, firstError } = await pool.run({ clients: 8, count: units, seconds: 120 }, (index) =>
    requestText({ method: 'POST', path, body: bodyOf(index), token: address.token }),
  );
  if (errors > 0) throw new Error(`the attacker's units could not be made: ${firstError}`);
}

/** A `capstan runtime-api` for the server; its port. */
export async function startRest(stack: AsyncDisposableStack, kubeconfig: string): Promise<number> {
  const directory = stack.use(temporaryDirectory('hostile-rest'));
  const [port, healthPort] = [await freePort(), await freePort()];
  const args = ['--kubeconfig', kubeconfig, '--port', `${port}`, '--health-port', `${healthPort}`];
  const command = [process.execPath, capstanProgram, 'runtime-api', ...args];
  const rest = stack.use(new Child('capstan runtime-api', command, { directory: directory.path }));
  await rest.waitUntil('it serves', () => rest.output.includes('REST API at'));
  return port;
}
