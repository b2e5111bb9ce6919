import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { issueCertificate } from './certificate.ts';
import { PkiError, readIfThere, writeAtomically } from './files.ts';
import { publicKeyHash } from './proof.ts';

/** An authority and the signer below it, all in PEM. */
export interface AuthorityMaterial {
  readonly certificate: string;
  readonly key: string;
  readonly signerCertificate: string;
  readonly signerKey: string;
}

interface Both {
  readonly old: AuthorityMaterial;
  readonly new: AuthorityMaterial;
  /** The certificate of the new authority, signed by the old one: those who know only the old one can verify what the new one signs. */
  readonly cross: string;
  /** When the phase began. */
  readonly since: string;
}

interface Every {
  /** Certificates of signers that a rollback abandoned. Agents renew what these have signed; nobody else accepts it. */
  readonly abandoned: readonly string[];
}

/** Where the rotation of the authority stands: the content of `rotation.json`. Without the file it is `standby`. */
export type Rotation = Every &
  (
    | {
        readonly phase: 'standby';
        /** The authority that remained, until the server has written it to its files. */
        readonly remaining?: AuthorityMaterial;
      }
    /** Both are trusted; the old one signs. */
    | ({ readonly phase: 'prepare' } & Both)
    /** Both are trusted; the new one signs. */
    | ({ readonly phase: 'switch' } & Both)
  );

export type RotationPhase = Rotation['phase'];
export const rotationActions = ['prepare', 'switch', 'retire', 'rollback'] as const;
export type RotationAction = (typeof rotationActions)[number];

export interface RotationContext {
  readonly now: Date;
  /** The authority that signs now. Needed to prepare; undefined if its files are incomplete. */
  readonly present?: AuthorityMaterial | undefined;
}

type Step = (rotation: Rotation, context: RotationContext) => Rotation;

const remains =
  (which: 'old' | 'new'): Step =>
  (rotation) => {
    const { old: before, new: after } = bothOf(rotation);
    // Everybody has renewed before the old one is retired, so that nobody needs the abandoned ones.
    return which === 'new'
      ? { phase: 'standby', remaining: after, abandoned: [] }
      : { phase: 'standby', remaining: before, abandoned: [...rotation.abandoned, after.signerCertificate] };
  };

/** Every step that exists. */
export const rotationTable: Readonly<Record<RotationPhase, Partial<Record<RotationAction, Step>>>> = {
  standby: { prepare: (rotation, context) => prepared(rotation, context) },
  prepare: {
    switch: (rotation, { now }) => ({ ...bothOf(rotation), abandoned: rotation.abandoned, phase: 'switch', since: now.toISOString() }),
    rollback: remains('old'),
  },
  switch: { retire: remains('new'), rollback: remains('old') },
};

/** A step of the rotation is impossible now. */
export class RotationError extends Error {
  override readonly name = 'RotationError';
  readonly code = 'rotation';
}

/** The state after a step. Throws a `RotationError` if the step does not exist in this phase. */
export function rotated(rotation: Rotation, action: RotationAction, context: RotationContext): Rotation {
  const step = rotationTable[rotation.phase][action];
  if (step !== undefined) return step(rotation, context);
  const possible = Object.keys(rotationTable[rotation.phase]).join(' or ');
  throw new RotationError(
    `the authority is in the phase ${rotation.phase}, from which ${action} is not possible: the next step is ${possible}`,
  );
}

/** The authority that signs; undefined if the files say it. */
export function signingMaterial(rotation: Rotation): AuthorityMaterial | undefined {
  if (rotation.phase === 'standby') return rotation.remaining;
  return rotation.phase === 'prepare' ? rotation.old : rotation.new;
}

/** The authority that is trusted but does not sign. */
export function otherMaterial(rotation: Rotation): AuthorityMaterial | undefined {
  if (rotation.phase === 'standby') return undefined;
  return rotation.phase === 'prepare' ? rotation.new : rotation.old;
}

function bothOf(rotation: Rotation): Both {
  if (rotation.phase === 'standby') throw new RotationError('there is one authority only');
  const { old: before, new: after, cross, since } = rotation;
  return { old: before, new: after, cross, since };
}

const day = 24 * 60 * 60 * 1000;
const backdate = 5 * 60 * 1000;

function prepared({ abandoned, ...rotation }: Rotation, { now, present }: RotationContext): Rotation {
  if (rotation.phase === 'standby' && rotation.remaining !== undefined)
    throw new RotationError(
      'the server has not taken up the last step yet. Start it, or wait some seconds if it is running, and try again',
    );
  if (present === undefined)
    throw new RotationError(
      'the present authority must sign the new one. Put ca.key and signer.key into the pki folder, or do this on the server that has them',
    );
  const oldCertificate = new X509Certificate(present.certificate);
  const oldKey = createPrivateKey(present.key);
  const authority = newKey();
  const signer = newKey();
  const notBefore = new Date(now.getTime() - backdate);
  // Its own name: programs that find an authority by its name must not confuse the two.
  const name = { commonName: `kubernetes-${publicKeyHash(authority.key).slice(0, 8)}`, publicKey: createPublicKey(authority.key) };
  const until = (days: number): Date => new Date(now.getTime() + days * day);
  const certificate = issueCertificate({ ...name, notBefore, notAfter: until(3650), usage: 'authority' }, { key: authority.key });
  return {
    phase: 'prepare',
    old: present,
    new: {
      certificate,
      key: authority.text,
      signerCertificate: issueCertificate(
        { commonName: 'capstan-signer', publicKey: createPublicKey(signer.key), notBefore, notAfter: until(1825), usage: 'authority' },
        { key: authority.key, certificate: new X509Certificate(certificate) },
      ),
      signerKey: signer.text,
    },
    cross: issueCertificate(
      { ...name, notBefore, notAfter: oldCertificate.validToDate, usage: 'authority' },
      { key: oldKey, certificate: oldCertificate },
    ),
    since: now.toISOString(),
    abandoned,
  };
}

function newKey(): { key: KeyObject; text: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { key: privateKey, text: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/** How files are changed, each atomically. Tests let a change fail. */
export interface FileChanges {
  readonly write: (file: string, text: string, mode: number) => Promise<void>;
  readonly remove: (file: string) => Promise<void>;
}

export const fileChanges: FileChanges = {
  write: writeAtomically,
  remove: async (file) => {
    await rm(file, { force: true });
    const directory = await open(dirname(file), 'r');
    await directory.sync().finally(() => directory.close());
  },
};

export const rotationFile = (directory: string): string => join(directory, 'rotation.json');

export async function readRotation(directory: string): Promise<Rotation> {
  const file = rotationFile(directory);
  const text = await readIfThere(file);
  if (text === undefined) return { phase: 'standby', abandoned: [] };
  try {
    const rotation = JSON.parse(text) as Rotation;
    if (rotationTable[rotation.phase] !== undefined && Array.isArray(rotation.abandoned)) return rotation;
  } catch {
    // Reported below.
  }
  throw new PkiError(file, 'does not describe a rotation of the authority; copy it again from the server where it was prepared');
}

/** Takes a step of the rotation. It is one atomic write: the server then brings the other files in line. */
export async function rotate(directory: string, action: RotationAction, now: Date): Promise<Rotation> {
  const rotation = await readRotation(directory);
  const next = rotated(rotation, action, { now, present: action === 'prepare' ? await presentMaterial(directory) : undefined });
  await fileChanges.write(rotationFile(directory), `${JSON.stringify(next, undefined, 2)}\n`, 0o600);
  return next;
}

async function presentMaterial(directory: string): Promise<AuthorityMaterial | undefined> {
  const read = (name: string): Promise<string | undefined> => readIfThere(join(directory, name));
  const [certificate, key, signerCertificate, signerKey] = await Promise.all(['ca.crt', 'ca.key', 'signer.crt', 'signer.key'].map(read));
  if (certificate === undefined || key === undefined || signerCertificate === undefined || signerKey === undefined) return undefined;
  return { certificate, key, signerCertificate, signerKey };
}

/**
 * Brings the files of the authority in line with the rotation. May be interrupted anywhere and repeated: until the last write `rotation.json` has
 * everything that the other files need.
 */
export async function settleRotation(directory: string, rotation: Rotation, { write, remove }: FileChanges): Promise<Rotation> {
  const signing = signingMaterial(rotation);
  if (signing === undefined) return rotation;
  const put = async (name: string, text: string, mode: number): Promise<boolean> => {
    const file = join(directory, name);
    if ((await readIfThere(file)) === text) return false;
    await write(file, text, mode);
    return true;
  };
  await put('ca.key', signing.key, 0o600);
  await put('ca.crt', signing.certificate, 0o644);
  // The signer's certificate is renewed with the same key, so that only a different key shows that it is another signer.
  if (await put('signer.key', signing.signerKey, 0o600)) await put('signer.crt', signing.signerCertificate, 0o644);
  if (rotation.phase !== 'standby') return rotation;
  const settled: Rotation = { phase: 'standby', abandoned: rotation.abandoned };
  const file = rotationFile(directory);
  if (settled.abandoned.length === 0) await remove(file);
  else await write(file, `${JSON.stringify(settled, undefined, 2)}\n`, 0o600);
  return settled;
}
