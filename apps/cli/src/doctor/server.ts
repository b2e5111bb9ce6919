import { Client, ConnectionError, connectionOf, loadKubeconfig } from '@capstan/client';
import { humanDuration } from '@capstan/machinery';
import { type ConnectionFlags, userAgent, workspaceIn } from '../workspaces/connection.ts';
import type { Check } from './machine.ts';

/** Certificates and tokens are refused beyond this difference of clocks, in milliseconds. */
const mostSkew = 30_000;

/** The server of the kubeconfig, if there is one. */
export async function serverChecks(flags: ConnectionFlags): Promise<Check[]> {
  let connection: ReturnType<typeof connectionOf>;
  try {
    connection = connectionOf(loadKubeconfig(flags.kubeconfig === undefined ? {} : { path: flags.kubeconfig }), flags.context);
  } catch (error) {
    const found = (error as Error).message;
    return [
      {
        name: 'kubeconfig',
        state: 'missing',
        found,
        advice: 'Use that of a server, such as capstan-data/admin.kubeconfig, or "capstan login"',
      },
    ];
  }
  const { server } = connection;
  const kubeconfig: Check = {
    name: 'kubeconfig',
    state: 'ok',
    found: `${new URL(server).origin}, workspace ${workspaceIn(server) ?? 'root'}`,
  };
  using client = new Client(connection, { userAgent, retry: { attempts: 1 }, timeouts: { connect: 5_000, response: 5_000 } });
  try {
    const began = Date.now();
    const answer = await client.under('/').send({ method: 'GET', path: '/version' });
    const took = Date.now() - began;
    const date = Date.parse(answer.header('date') ?? '');
    let text = '';
    await answer.read(5_000, (part) => void (text += part));
    if (answer.code === 401)
      return [
        kubeconfig,
        { name: 'server', state: 'wrong', found: 'it does not accept your credentials', advice: 'Log in again with "capstan login"' },
      ];
    return [
      kubeconfig,
      { name: 'server', state: 'ok', found: `${versionIn(text)}, answers in ${took} ms` },
      ...clockCheck(date, began + took / 2),
    ];
  } catch (error) {
    const advice = error instanceof ConnectionError ? 'Start it with "capstan up", or check the network' : 'Look at its log';
    return [kubeconfig, { name: 'server', state: 'wrong', found: (error as Error).message, advice }];
  }
}

function versionIn(text: string): string {
  try {
    return `version ${(JSON.parse(text) as { gitVersion?: string }).gitVersion ?? 'unknown'}`;
  } catch {
    return 'an unknown version';
  }
}

/** The header has whole seconds. */
export function clockCheck(theirs: number, ours: number): Check[] {
  if (Number.isNaN(theirs)) return [];
  const skew = Math.max(0, Math.abs(theirs + 500 - ours) - 500);
  if (skew <= mostSkew) return [{ name: 'clock', state: 'ok', found: 'as that of the server' }];
  const found = `differs from that of the server by ${humanDuration(skew)}`;
  return [{ name: 'clock', state: 'wrong', found, advice: 'Set it, such as with chrony: certificates and tokens are refused otherwise' }];
}
