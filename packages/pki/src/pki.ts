import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { apiServerGroup, apiServerUser, controllerManagerUser, kubeletClientUser, platformControllersUser } from '@capstan/api';
import { issueCertificate } from './certificate.ts';
import { PkiError, readIfThere } from './files.ts';
import {
  type FileChanges,
  fileChanges,
  otherMaterial,
  type Rotation,
  type RotationPhase,
  readRotation,
  settleRotation,
  signingMaterial,
} from './rotation.ts';
import { type SigningKey, signingKey } from './signing-key.ts';

/** The server's keys and certificates on disk. */
export interface Pki {
  readonly directory: string;
  /** Signs the certificates of the server and its clients. */
  readonly authority: Authority;
  readonly rotation: RotationView;
  readonly serving: KeyPair;
  /** Credentials of kubernetes-admin in system:masters. */
  readonly admin: KeyPair;
  /** Credentials of `capstan controller-manager`. Undefined, like the signer, if missing and nothing can be signed. */
  readonly controllerManager: KeyPair | undefined;
  /** Credentials with which the server calls kubelets. */
  readonly kubeletClient: KeyPair | undefined;
  /** Credentials of `capstan platform-controllers`, likewise. */
  readonly platformControllers: KeyPair | undefined;
  /** For the console, where it is reached over the network: the same names as `serving`, but a key of its own. */
  readonly console: KeyPair | undefined;
  /** Credentials of API servers when they ask each other. */
  readonly apiServer: KeyPair | undefined;
  /** Credentials of a user whom the rules of every workspace allow everything, whereas `admin` bypasses the rules. */
  readonly platformAdmin: KeyPair | undefined;
  /**
   * An authority below `authority`, with which the controller-manager signs certificate requests; the key of `authority` stays on the
   * server.
   */
  readonly signer: KeyPair | undefined;
  /** Signs service account tokens. */
  readonly serviceAccounts: SigningKey;
}

/** Who is trusted besides the authority that signs, while it is rotated. All certificates are in PEM. */
export interface RotationView {
  readonly phase: RotationPhase;
  readonly otherAuthority: string | undefined;
  readonly otherSigner: string | undefined;
  readonly abandonedSigners: readonly string[];
}

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  /** Undefined if the directory has only the certificate; then nothing can be signed. */
  readonly key: KeyObject | undefined;
}

export interface KeyPair {
  /** Both in PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly notAfter: Date;
}

export interface PkiOptions {
  /** Names and addresses of the server besides the standard ones. A certificate that lacks any of them is replaced. */
  readonly hosts?: readonly string[];
  /** Like `hosts`, but a certificate that lacks any of them is still used if there is no key to sign a new one. */
  readonly foundHosts?: readonly string[];
  readonly now?: () => Date;
  /** For tests, which let changes fail. */
  readonly changes?: FileChanges;
}

const day = 24 * 60 * 60 * 1000;
const authorityLifetime = 3650 * day;
const certificateLifetime = 365 * day;
/** Long enough that it never shortens the life of a certificate that it signs: after two thirds it is renewed with the same key. */
const signerLifetime = 1825 * day;
/** Certificates start slightly in the past, for clients whose clocks are behind. */
const backdate = 5 * 60 * 1000;

const everyServersHosts = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  '127.0.0.1',
  '::1',
];

/** The addresses of the service `kubernetes`, at which pods reach the server. */
export const serviceAddresses = { IPv4: '10.96.0.1', IPv6: 'fd00:10:96::1' } as const;

/** The certificates of all authorities that may sign client certificates, in PEM. */
export function clientAuthorities(pki: Pki, another?: string): string {
  return [trustedAuthorities(pki), trustedSigners(pki), another].filter((part) => part !== undefined).join('\n');
}

/** The certificates of all authorities that may have signed for a server, in PEM: first the one that signs now. */
export function trustedAuthorities({ authority, rotation }: Pki): string {
  return joined([authority.certificate, rotation.otherAuthority])!;
}

/** The certificates of the signers below these authorities, in PEM; undefined if there are none. */
export function trustedSigners({ signer, rotation }: Pki): string | undefined {
  return joined([signer?.certificate, rotation.otherSigner]);
}

/** People's files may lack the last line break. */
function joined(parts: readonly (string | undefined)[]): string | undefined {
  const all = parts.filter((one) => one !== undefined);
  return all.length < 2 ? all[0] : all.map((one) => `${one.trimEnd()}\n`).join('');
}

/** Loads the files in the directory and creates missing ones. Certificates are replaced after two thirds of their lifetime. */
export async function ensurePki(
  directory: string,
  { hosts = [], foundHosts = [], now = () => new Date(), changes = fileChanges }: PkiOptions = {},
): Promise<Pki> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const at = now();
  const rotation = await readRotation(directory);
  const settled = await settleRotation(directory, rotation, changes);
  const authority = authorityOf(rotation) ?? (await ensureAuthority(directory, { now: at, changes }));
  const place = { directory, authority, now: at, changes };
  const [
    serving,
    admin,
    platformAdmin,
    controllerManager,
    kubeletClient,
    apiServer,
    platformControllers,
    console,
    signer,
    serviceAccounts,
  ] = await Promise.all([
    ensureKeyPair(place, {
      name: 'apiserver',
      commonName: 'kube-apiserver',
      usage: 'server',
      hosts: [...new Set([...everyServersHosts, ...hosts])],
      foundHosts: [...foundHosts, ...Object.values(serviceAddresses)],
    }),
    ensureKeyPair(place, { name: 'admin', commonName: 'kubernetes-admin', organizations: ['system:masters'], usage: 'client' }),
    ensureIfPossible(place, { name: 'kcp-admin', commonName: 'kcp-admin', organizations: ['system:kcp:admin'], usage: 'client' }),
    ensureIfPossible(place, { name: 'controller-manager', commonName: controllerManagerUser, usage: 'client' }),
    ensureIfPossible(place, { name: 'apiserver-kubelet-client', commonName: kubeletClientUser, usage: 'client' }),
    ensureIfPossible(place, { name: 'apiserver-client', commonName: apiServerUser, organizations: [apiServerGroup], usage: 'client' }),
    ensureIfPossible(place, { name: 'platform-controllers', commonName: platformControllersUser, usage: 'client' }),
    ensureIfPossible(place, {
      name: 'console',
      commonName: 'capstan-console',
      usage: 'server',
      foundHosts: [...new Set(['localhost', '127.0.0.1', '::1', ...hosts, ...foundHosts])],
    }),
    ensureIfPossible(place, { name: 'signer', commonName: 'capstan-signer', usage: 'authority', lifetime: signerLifetime }),
    ensureKey(join(directory, 'sa.key'), changes).then(({ key }) => signingKey(key)),
  ]);
  const others = { admin, platformAdmin, controllerManager, kubeletClient, apiServer, platformControllers, console };
  const chained = settled.phase === 'switch' ? { ...serving, certificate: joined([serving.certificate, settled.cross])! } : serving;
  return { directory, authority, rotation: viewOf(settled), serving: chained, ...others, signer, serviceAccounts };
}

function viewOf(rotation: Rotation): RotationView {
  const other = otherMaterial(rotation);
  const { phase, abandoned: abandonedSigners } = rotation;
  return { phase, otherAuthority: other?.certificate, otherSigner: other?.signerCertificate, abandonedSigners };
}

/** Not from the files: another process may be replacing them. */
function authorityOf(rotation: Rotation): Authority | undefined {
  const signing = signingMaterial(rotation);
  return signing && { certificate: signing.certificate, key: createPrivateKey(signing.key) };
}

async function ensureAuthority(directory: string, { now, changes }: Pick<Place, 'now' | 'changes'>): Promise<Authority> {
  const certificateFile = join(directory, 'ca.crt');
  const keyFile = join(directory, 'ca.key');
  const existing = await readIfThere(certificateFile);
  if (existing !== undefined) {
    const certificate = parseCertificate(certificateFile, existing);
    if (certificate.validToDate <= now) {
      throw new PkiError(
        certificateFile,
        `the authority's certificate expired on ${certificate.validToDate.toISOString()}; put a new ca.crt and ca.key in its place, or delete the folder to begin anew`,
      );
    }
    const text = await readIfThere(keyFile);
    const key = text === undefined ? undefined : parseKey(keyFile, text);
    if (key !== undefined && !certificate.checkPrivateKey(key)) {
      throw new PkiError(keyFile, 'is not the key of ca.crt; put the two files that belong together in the folder');
    }
    return { certificate: existing, key };
  }
  // If a process died between writing the two files, there is a key without a certificate; use it.
  const { key } = await ensureKey(keyFile, changes);
  const certificate = issueCertificate(
    {
      commonName: 'kubernetes',
      publicKey: createPublicKey(key),
      notBefore: new Date(now.getTime() - backdate),
      notAfter: new Date(now.getTime() + authorityLifetime),
      usage: 'authority',
    },
    { key },
  );
  await changes.write(certificateFile, certificate, 0o644);
  return { certificate, key };
}

interface Place {
  readonly directory: string;
  readonly authority: Authority;
  readonly now: Date;
  readonly changes: FileChanges;
}

interface Wanted {
  readonly name: string;
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usage: 'server' | 'client' | 'authority';
  readonly lifetime?: number;
  readonly hosts?: readonly string[];
  readonly foundHosts?: readonly string[];
}

async function ensureKeyPair(place: Place, wanted: Wanted): Promise<KeyPair> {
  const certificateFile = join(place.directory, `${wanted.name}.crt`);
  const keyFile = join(place.directory, `${wanted.name}.key`);
  const [{ key, text }, existing] = await Promise.all([ensureKey(keyFile, place.changes), readIfThere(certificateFile)]);
  const { hosts = [], foundHosts = [] } = wanted;
  const allHosts = [...new Set([...hosts, ...foundHosts])];
  if (existing !== undefined) {
    const certificate = parseCertificate(certificateFile, existing);
    if (isGood(certificate, key, { ...place, hosts: place.authority.key === undefined ? hosts : allHosts })) {
      return { certificate: existing, key: text, notAfter: certificate.validToDate };
    }
  }
  if (place.authority.key === undefined) {
    throw new PkiError(certificateFile, 'must be made or renewed, and there is no ca.key to sign it with; add the key of ca.crt');
  }
  const notAfter = new Date(place.now.getTime() + (wanted.lifetime ?? certificateLifetime));
  const certificate = issueCertificate(
    { ...wanted, hosts: allHosts, publicKey: createPublicKey(key), notBefore: new Date(place.now.getTime() - backdate), notAfter },
    { key: place.authority.key, certificate: new X509Certificate(place.authority.certificate) },
  );
  await place.changes.write(certificateFile, certificate, 0o644);
  return { certificate, key: text, notAfter };
}

/** For optional credentials: undefined if missing and nothing can be signed. */
async function ensureIfPossible(place: Place, wanted: Wanted): Promise<KeyPair | undefined> {
  if (place.authority.key !== undefined) return ensureKeyPair(place, wanted);
  const certificate = await readIfThere(join(place.directory, `${wanted.name}.crt`));
  return certificate === undefined ? undefined : ensureKeyPair(place, wanted);
}

/**
 * Whether a certificate is still usable: it matches the key and authority, covers all hosts and is in the first two thirds of its lifetime.
 */
function isGood(certificate: X509Certificate, key: KeyObject, { authority, now, hosts }: Place & { hosts: readonly string[] }): boolean {
  const from = certificate.validFromDate.getTime();
  const renewAt = from + ((certificate.validToDate.getTime() - from) * 2) / 3;
  return (
    from <= now.getTime() &&
    now.getTime() < renewAt &&
    certificate.checkPrivateKey(key) &&
    certificate.verify(new X509Certificate(authority.certificate).publicKey) &&
    hosts.every((host) => covers(certificate, host))
  );
}

function covers(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !== undefined;
}

async function ensureKey(file: string, changes: FileChanges): Promise<{ key: KeyObject; text: string }> {
  const existing = await readIfThere(file);
  if (existing !== undefined) return { key: parseKey(file, existing), text: existing };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const text = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  await changes.write(file, text, 0o600);
  return { key: privateKey, text };
}

function parseCertificate(file: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new PkiError(file, 'holds no certificate in PEM; restore it, or delete it to have it made anew', error);
  }
}

function parseKey(file: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new PkiError(
      file,
      'holds no private key in PEM without a password; restore it, or delete it with the .crt of the same name to have both made anew',
      error,
    );
  }
}
