import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { type ConnectionFlags, workspaceIn } from '../workspaces/connection.ts';
import { type ContextEntry, KubeconfigFile } from '../workspaces/kubeconfig-file.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

export interface ContextFlags extends ConnectionFlags {
  readonly output?: 'json' | 'name';
}

/** Lists the contexts of the kubeconfig. */
export function listContexts({ kubeconfig, output }: ContextFlags): void {
  const { contexts, currentContext, path } = KubeconfigFile.read(kubeconfig);
  const shown = contexts.map((context) => ({ ...context, isCurrent: context.name === currentContext, workspace: workspaceOf(context) }));
  if (output === 'json') return write(JSON.stringify(shown, undefined, 2));
  if (output === 'name') return write(shown.map(({ name }) => name).join('\n'));
  if (shown.length === 0) return write(`${path} has no contexts. Add one with "capstan login".`);
  const rows = shown.map(({ isCurrent, name, server, workspace, user }) => [isCurrent ? '*' : '', name, hostOf(server), workspace, user]);
  for (const line of columns([['', 'NAME', 'SERVER', 'WORKSPACE', 'USER'], ...rows])) write(line);
}

export function useContext(name: string, { kubeconfig }: ConnectionFlags): void {
  const file = KubeconfigFile.read(kubeconfig);
  known(file, name);
  file.useContext(name);
  write(`Current context is ${name}.`);
}

export function deleteContext(name: string, { kubeconfig }: ConnectionFlags): void {
  const file = KubeconfigFile.read(kubeconfig);
  known(file, name);
  const wasCurrent = file.currentContext === name;
  file.deleteContext(name);
  write(`The context ${name} was deleted.${wasCurrent ? ' Choose another with "capstan context use".' : ''}`);
}

function known({ contexts, path }: KubeconfigFile, name: string): void {
  if (contexts.some((context) => context.name === name)) return;
  throw new Failure('usage', `${path} has no context ${name}; "capstan context list" lists all.`);
}

const workspaceOf = ({ server }: ContextEntry): string => workspaceIn(server) ?? 'root';
const hostOf = (server: string): string => server.replace(/\/clusters\/[^/]+\/?$/, '');
