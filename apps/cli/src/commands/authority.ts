import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  certificateFingerprint,
  PkiError,
  type Rotation,
  type RotationAction,
  RotationError,
  readIfThere,
  readRotation,
  rotate,
  rotationFile,
} from '@capstan/pki';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { waitingFor } from './old-authority.ts';
import { defaultDataDirectory } from './options.ts';

export interface AuthorityFlags {
  readonly dataDir?: string;
}

export interface RetireFlags extends AuthorityFlags {
  readonly force?: boolean;
}

/** At once: the reader may close the pipe after the first line. */
const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

/** Shows the phase, both authorities, and who still uses the old one. */
export async function authorityStatus(flags: AuthorityFlags): Promise<void> {
  const { dataDirectory, pki } = placeOf(flags);
  const rotation = await explained(readRotation(pki));
  const rows = [['Phase', rotation.phase === 'standby' ? 'standby' : `${rotation.phase}, since ${rotation.since}`]];
  if (rotation.phase === 'standby') {
    const certificate = rotation.remaining?.certificate ?? (await explained(readIfThere(join(pki, 'ca.crt'))));
    if (certificate !== undefined) rows.push(['Signs', describe(certificate)]);
  } else {
    const [signs, trusted] = rotation.phase === 'prepare' ? [rotation.old, rotation.new] : [rotation.new, rotation.old];
    rows.push(['Signs', describe(signs.certificate)], ['Trusted too', describe(trusted.certificate)]);
  }
  rows.push(['Next', nextSteps[rotation.phase]]);
  print([...columns(rows), ...(rotation.phase === 'switch' ? await usersOfOld(dataDirectory, rotation.new.certificate) : [])]);
}

async function usersOfOld(dataDirectory: string, newAuthority: string): Promise<string[]> {
  const waiting = await waitingFor(dataDirectory, newAuthority).catch((error: Error) => error);
  if (waiting instanceof Error) return [`The server cannot be asked who still uses the old authority: ${waiting.message}`];
  if (waiting.length === 0) return ['No node and no API server uses the old authority.'];
  return ['These still use the old authority:', ...waiting.map((one) => `  ${one}`)];
}

const nextSteps = {
  standby: 'capstan authority prepare',
  prepare: 'capstan authority switch, or rollback',
  switch: 'capstan authority retire, or rollback',
} as const satisfies Record<Rotation['phase'], string>;

/** Takes a step and says what to do with other servers. */
export async function takeStep(action: Exclude<RotationAction, 'retire'>, flags: AuthorityFlags): Promise<void> {
  const { pki } = placeOf(flags);
  await explained(rotate(pki, action, new Date()));
  print(reports[action](rotationFile(pki)));
}

/** Trusts the old authority no longer, once nobody is known to use it. */
export async function retire({ force = false, ...flags }: RetireFlags): Promise<void> {
  const { dataDirectory, pki } = placeOf(flags);
  const rotation = await explained(readRotation(pki));
  // In other phases the step itself says what is possible.
  if (rotation.phase === 'switch' && !force) await refuseIfUsed(dataDirectory, rotation.new.certificate);
  await explained(rotate(pki, 'retire', new Date()));
  print(reports.retire(rotationFile(pki)));
}

const follow = 'A running server follows within seconds.';
const everywhere = 'If there are other API servers, run the same command on each of them.';
const reports: Readonly<Record<RotationAction, (file: string) => readonly string[]>> = {
  prepare: (file) => [
    `The new authority exists. Both are trusted, and the old one signs. ${follow}`,
    `If there are other API servers, copy ${file} into the pki folder of each. It contains keys: keep it at mode 0600.`,
    'Give people and kubelets time to fetch kubeconfigs or certificates that name both, then run "capstan authority switch".',
  ],
  switch: () => [
    `The new authority signs. Both are trusted. ${follow}`,
    everywhere,
    'Then run "capstan authority retire"; it lists who still uses the old one.',
  ],
  retire: () => [`Only the new authority is trusted. ${follow}`, everywhere],
  rollback: () => [`The old authority signs, and only it is trusted. ${follow}`, everywhere],
};

async function refuseIfUsed(dataDirectory: string, certificate: string): Promise<void> {
  let waiting: readonly string[];
  try {
    waiting = await waitingFor(dataDirectory, certificate);
  } catch (error) {
    throw new Failure(
      'notRunning',
      `the API server cannot be asked who still uses the old authority: ${(error as Error).message}. Start it and try again, or use --force.`,
      error,
    );
  }
  if (waiting.length === 0) return;
  const list = waiting.map((one) => `  ${one}`).join('\n');
  throw new Failure(
    'notRenewed',
    `these still use the old authority:\n${list}\nNodes renew their certificates twice a day, and servers follow "capstan authority switch". Try again later, or use --force; such nodes must then be enrolled again.`,
  );
}

function placeOf({ dataDir }: AuthorityFlags): { readonly dataDirectory: string; readonly pki: string } {
  const dataDirectory = resolve(dataDir ?? defaultDataDirectory);
  const pki = join(dataDirectory, 'pki');
  if (!existsSync(join(pki, 'ca.crt')) && !existsSync(rotationFile(pki)))
    throw new Failure('usage', `there is no authority in ${pki}. Name the data directory of an API server with --data-dir.`);
  return { dataDirectory, pki };
}

function describe(certificate: string): string {
  const { subject, validTo } = new X509Certificate(certificate);
  return `${subject}, SHA-256 ${certificateFingerprint(certificate)}, until ${new Date(validTo).toISOString()}`;
}

async function explained<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RotationError) throw new Failure('usage', `${error.message}.`, error);
    if (error instanceof PkiError) throw new Failure('badCertificate', `${error.message}.`, error);
    throw error;
  }
}
