import { createWriteStream } from 'node:fs';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../failure.ts';

/** Asks the server that holds the data for a copy, with the admin's own certificate. Resolves with the size of the file. */
export async function saveFromServer(file: string, dataDirectory: string): Promise<number> {
  const kubeconfig = await readFile(join(dataDirectory, 'admin.kubeconfig'), 'utf8');
  const field = (name: string): string => new RegExp(`${name}: "?([^"\\s]+)`).exec(kubeconfig)?.[1] ?? '';
  const pem = (name: string): Buffer => Buffer.from(field(name), 'base64');
  const temporary = `${file}.part`;
  try {
    await new Promise<void>((resolve, reject) => {
      const asked = request(`${field('server')}/capstan/snapshot`, {
        ca: pem('certificate-authority-data'),
        cert: pem('client-certificate-data'),
        key: pem('client-key-data'),
      });
      asked.on('error', reject);
      asked.on('response', (answer) => {
        if (answer.statusCode !== 200) {
          answer.resume();
          reject(
            new Failure('unexpected', `the server that holds ${dataDirectory} answered ${answer.statusCode} when asked for a snapshot`),
          );
          return;
        }
        pipeline(answer, createWriteStream(temporary, { mode: 0o600 })).then(resolve, reject);
      });
      asked.end();
    });
    await rename(temporary, file);
    return (await stat(file)).size;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
