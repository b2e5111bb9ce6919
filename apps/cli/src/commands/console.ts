import { type AddressFlags, consoleAddress } from '../console/address.ts';
import { browserProgram, openPrivately } from '../console/browser.ts';
import { signInLink } from '../console/link.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

export interface ConsoleFlags extends ConnectionFlags, AddressFlags {
  /** False: print the link only. */
  readonly browser?: boolean;
}

/** Gets a link to sign in at the console as the user of the kubeconfig, and opens or prints it. */
export async function openConsole(flags: ConsoleFlags): Promise<void> {
  const { connection } = workspaceClient(flags);
  const address = consoleAddress(flags, connection);
  const link = await signInLink(address, connection);
  const program = flags.browser === false ? undefined : browserProgram(process.platform, process.env);
  if (program !== undefined) {
    process.stdout.write(`Opening ${address} in your browser…\n`);
    if (await openPrivately(link, program)) return;
  }
  process.stdout.write(`${link}\n`);
  process.stderr.write('The link works once, within ten minutes.\n');
}
