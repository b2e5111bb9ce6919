import { execFileSync } from 'node:child_process';
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyPair } from '../certificates.ts';
import { kubeconfigText } from '../kubeconfig.ts';
import type { Layout } from './layout.ts';
import { writeWhole } from './whole-file.ts';

const authorities = ['server-ca', 'client-ca', 'request-header-ca'] as const;
export type AuthorityName = (typeof authorities)[number];

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];
/** A certificate is renewed at a start within this time of its end, in milliseconds. */
const renewal = 120 * 24 * 3_600_000;

const openssl = (directory: string, ...args: string[]): void => {
  execFileSync('openssl', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
};

/** Creates the authorities of a cluster, unless they exist. A server that was killed half-way goes on where it was. */
export function ensureAuthorities({ tls, program }: Layout): void {
  mkdirSync(tls, { recursive: true, mode: 0o700 });
  for (const name of authorities)
    if (!existsSync(join(tls, `${name}.crt`))) {
      const subject = `/CN=${program}-${name}@${Date.now()}`;
      openssl(tls, 'req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.new`, '-subj', subject, '-days', '3650');
      renameSync(join(tls, `${name}.new`), join(tls, `${name}.crt`));
    }
  if (!existsSync(join(tls, 'service.key'))) {
    openssl(tls, 'ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'service.new');
    renameSync(join(tls, 'service.new'), join(tls, 'service.key'));
  }
}

/** All files that servers share. */
export function sharedFiles({ tls }: Layout): Readonly<Record<string, string>> {
  const names = [...authorities.flatMap((name) => [`${name}.crt`, `${name}.key`]), 'service.key'];
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(tls, name), 'utf8')]));
}

export interface CertificateWish {
  readonly authority: AuthorityName;
  /** `/O=group/CN=name` */
  readonly subject: string;
  /** Names and addresses of a server. */
  readonly names?: readonly string[];
}

export function issue({ tls }: Layout, { authority, subject, names = [] }: CertificateWish): KeyPair {
  const work = join(tls, `work-${randomBytes(6).toString('hex')}`);
  mkdirSync(work);
  try {
    openssl(work, 'req', ...newKey, '-keyout', 'key', '-out', 'request', '-subj', subject);
    const alternatives = names.map((name) => (/^[\d.]+$|:/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',');
    writeFileSync(
      join(work, 'extensions'),
      names.length === 0 ? 'extendedKeyUsage=clientAuth\n' : `subjectAltName=${alternatives}\nextendedKeyUsage=serverAuth,clientAuth\n`,
    );
    const serial = `0x${randomBytes(15).toString('hex')}`;
    const signed = ['-CA', join(tls, `${authority}.crt`), '-CAkey', join(tls, `${authority}.key`), '-set_serial', serial, '-days', '365'];
    openssl(work, 'x509', '-req', '-in', 'request', ...signed, '-extfile', 'extensions', '-out', 'certificate');
    const read = (name: string): string => readFileSync(join(work, name), 'utf8');
    return { certificate: read('certificate'), key: read('key') };
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Issues a certificate into files, unless they have one that is good for a while. */
export function ensureCertificate(layout: Layout, file: string, wish: CertificateWish): void {
  const path = join(layout.tls, `${file}.crt`);
  if (existsSync(path) && Date.parse(new X509Certificate(readFileSync(path)).validTo) - Date.now() > renewal) return;
  const { certificate, key } = issue(layout, wish);
  writeWhole(join(layout.tls, `${file}.key`), key, 0o600);
  writeWhole(path, certificate);
}

/** Deletes all certificates but those of the authorities; the next start issues new ones. */
export function deleteCertificates({ tls, data }: Pick<Layout, 'tls' | 'data'>): string[] {
  const files = [tls, join(data, 'agent')]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)));
  const leaves = files.filter((file) => file.endsWith('.crt') && !file.endsWith('-ca.crt'));
  for (const file of leaves) rmSync(file);
  return leaves;
}

export function writeKubeconfig(layout: Layout, path: string, { name, port }: { readonly name: string; readonly port: number }): void {
  const read = (file: string): string => readFileSync(join(layout.tls, file), 'utf8');
  const text = kubeconfigText({
    server: `https://127.0.0.1:${port}`,
    authority: read('server-ca.crt'),
    certificate: read(`${name}.crt`),
    key: read(`${name}.key`),
  });
  writeWhole(path, text, 0o600);
}

/** The hash by which a token names the authority of its cluster. */
export const authorityHash = (certificate: string): string => createHash('sha256').update(certificate).digest('hex');
