import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { controllerManagerUser } from '../bootstrap/own-roles.ts';
import { adminKubeconfig, type Pki, userKubeconfig } from '../pki/index.ts';

/** Writes how the administrator and the controller-manager reach the server; answers with the path of the administrator's. */
export async function writeKubeconfigs(directory: string, pki: Pki, url: string): Promise<string> {
  if (pki.controllerManager !== undefined) {
    const text = userKubeconfig(pki, url, { name: controllerManagerUser, keyPair: pki.controllerManager });
    await writeWhole(join(directory, 'controller-manager.kubeconfig'), text);
  }
  // Last: its presence says that the server is ready.
  const path = join(directory, 'admin.kubeconfig');
  await writeWhole(path, adminKubeconfig(pki, url));
  return path;
}

/** Appears whole or not at all. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}
