import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  controllersBesideCapstan,
  output,
  type RunningApiServer,
  requireTool,
  startCapstan,
  startControllerManager,
  startKubeControllerManager,
} from '@capstan/testbed';
import type { Suite } from './suite.ts';

export interface SuiteServer extends AsyncDisposable {
  readonly port: number;
  /** The certificate of an authority, in PEM. */
  readonly certificate: string;
}

/** The suite's pods have no service accounts, and it compares created objects field by field. */
const disabledPlugins = ['ServiceAccount', 'DefaultStorageClass', 'DefaultTolerationSeconds'];

/** A server with controllers and the initial state that the suite expects: one node, and all rights for every authenticated user. */
export async function startForSuite(suite: Suite): Promise<SuiteServer> {
  await using stack = new AsyncDisposableStack();
  const server = await capstan(suite, stack);
  const kubectl = async (args: readonly string[], input = ''): Promise<string> =>
    output(await requireTool('kubectl'), ['--kubeconfig', server.kubeconfig, ...args], { input });
  await kubectl(['create', 'clusterrolebinding', 'everybody', '--clusterrole=cluster-admin', '--group=system:authenticated']);
  // The annotation produces managed fields, which a bare node would not have.
  const metadata = { name: '127.0.0.1', annotations: { 'save-managers': 'true' } };
  await kubectl(
    ['create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata, status: { capacity: { memory: '1Gi' } } }),
  );
  const owned = stack.move();
  return {
    port: Number(new URL(server.url).port),
    certificate: readFileSync(suite.authority.certificate, 'utf8'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function capstan({ directory, tokens, authority }: Suite, stack: AsyncDisposableStack): Promise<RunningApiServer> {
  const config = join(directory, 'capstan.json');
  const authentication = { tokenFile: tokens, clientAuthorityFile: authority.certificate };
  const signing = { certificateFile: authority.certificate, keyFile: authority.key };
  writeFileSync(config, JSON.stringify({ apiserver: { authentication, admission: { disabledPlugins } }, controllerManager: { signing } }));
  const server = stack.use(await startCapstan({ store: 'sqlite', args: ['--config', config] }));
  stack.use(await startControllerManager(server, { args: ['--config', config] }));
  stack.use(await startKubeControllerManager(server, { controllers: controllersBesideCapstan }));
  return server;
}
