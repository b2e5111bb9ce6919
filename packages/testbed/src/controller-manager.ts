import { type CapstanOptions, capstanCommand, type RunningCapstan } from './capstan.ts';
import { Child } from './child.ts';

/**
 * The real `capstan controller-manager` process beside a server. It runs without leader election: end the first one before starting a
 * second.
 */
export async function startControllerManager(
  server: RunningCapstan,
  { args = [], environment }: Pick<CapstanOptions, 'args' | 'environment'> = {},
): Promise<Child> {
  const command = [capstanCommand, 'controller-manager', '--data-dir', server.dataDirectory, '--port', '0', '--no-leader-elect', ...args];
  const manager = new Child('controller-manager', command, environment === undefined ? {} : { environment });
  try {
    await manager.waitUntil('running', () => manager.output.includes('controllers run against'));
  } catch (error) {
    await manager.stop();
    throw error;
  }
  return manager;
}
