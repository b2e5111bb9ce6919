import { basename } from 'node:path';
import { type Artifact, type ArtifactList, artifactListPath, artifactPath } from '@capstan/api';
import type { Client } from '@capstan/client';
import { humanDuration } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { type Column, printList } from '../output.ts';
import type { OutputFormat } from '../output-format.ts';
import { formatBytes } from '../units/words.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { uploadArtifact } from './upload.ts';

export interface ArtifactFlags extends ConnectionFlags {
  readonly output?: OutputFormat;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);

const table: readonly Column<Artifact>[] = [
  { name: 'NAME', value: ({ name }) => name },
  { name: 'SHA256', value: ({ sha256 }) => sha256 },
  { name: 'SIZE', value: ({ size }) => formatBytes(size) },
  { name: 'AGE', value: ({ addedAt }) => humanDuration(Date.now() - Date.parse(addedAt)) },
];

/** Uploads a file and prints its SHA-256, by which apps and tasks name it. */
export async function addArtifact(
  file: string,
  { name = basename(file), ...flags }: ConnectionFlags & { readonly name?: string },
): Promise<void> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,252}$/.test(name))
    throw new Failure('usage', `${JSON.stringify(name)} is no name for an artifact: use letters, digits and . _ + -, with --name.`);
  using own = workspaceClient(flags);
  const show = process.stderr.isTTY;
  const { sha256, size } = await uploadArtifact(own.under('/'), file, {
    name,
    onProgress: (sent, all) => {
      if (show) process.stderr.write(`\rUploading ${formatBytes(sent)} of ${formatBytes(all)} `);
    },
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' || error.code === 'EISDIR' ? new Failure('usage', `${file} is no file.`, error) : error;
  });
  if (show) process.stderr.write('\r\x1b[K');
  write(`${sha256}  ${name}, ${formatBytes(size)}`);
}

export async function listArtifacts({ output, ...flags }: ArtifactFlags): Promise<void> {
  using own = workspaceClient(flags);
  printList(await artifactsOf(own.under('/')), { output, table, empty: 'No artifacts. Add a file with "capstan artifact add FILE".' });
}

/** Removes artifacts by their names, or by the SHA-256 or its beginning. */
export async function removeArtifacts(wanted: readonly string[], flags: ConnectionFlags): Promise<void> {
  using own = workspaceClient(flags);
  const client = own.under('/');
  const artifacts = await artifactsOf(client);
  for (const { sha256, name } of wanted.map((one) => findArtifact(artifacts, one))) {
    await client.json({ method: 'DELETE', path: artifactPath(sha256) });
    write(`${sha256}  ${name} removed`);
  }
}

/** Throws a `Failure` if the name or the beginning of the SHA-256 belongs to none or several. */
export function findArtifact(artifacts: readonly Artifact[], wanted: string): Artifact {
  const found = artifacts.filter(({ name, sha256 }) => name === wanted || (/^[0-9a-f]{8,64}$/.test(wanted) && sha256.startsWith(wanted)));
  const [first, ...more] = found;
  if (first === undefined) throw new Failure('usage', `there is no artifact ${wanted}; see "capstan artifact list".`);
  if (more.length > 0) throw new Failure('usage', `${found.length} artifacts are called ${wanted}; name one by its SHA-256.`);
  return first;
}

async function artifactsOf(client: Client): Promise<readonly Artifact[]> {
  return (await client.json<ArtifactList>({ method: 'GET', path: artifactListPath })).artifacts;
}
