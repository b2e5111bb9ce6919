import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from './command.ts';
import { kubeconfigText } from './kubeconfig.ts';

export interface KeyPair {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];

/** A certificate authority for the duration of a test. It keeps its files in the given directory. */
export class TestAuthority {
  readonly certificate: string;
  readonly #directory: string;
  #issued = 0;

  private constructor(directory: string) {
    this.#directory = directory;
    this.certificate = readFileSync(join(directory, 'ca.crt'), 'utf8');
  }

  static async create(directory: string): Promise<TestAuthority> {
    await openssl(directory, [
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-subj',
      '/CN=test-authority',
      '-days',
      '2',
    ]);
    return new TestAuthority(directory);
  }

  /** An existing authority, such as a server's own; the directory gets copies of its files. */
  static of({ certificate, key }: KeyPair, directory: string): TestAuthority {
    writeFileSync(join(directory, 'ca.crt'), certificate);
    writeFileSync(join(directory, 'ca.key'), key, { mode: 0o600 });
    return new TestAuthority(directory);
  }

  /** A certificate for a user (`/O=group/CN=name`) or, with addresses, for a server. */
  async issue(subject: string, addresses: readonly string[] = []): Promise<KeyPair> {
    const name = `issued-${++this.#issued}`;
    await openssl(this.#directory, ['req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject]);
    const extensions =
      addresses.length === 0
        ? 'extendedKeyUsage=clientAuth\n'
        : `subjectAltName=${addresses.map((address) => `IP:${address}`).join(',')}\n`;
    writeFileSync(join(this.#directory, `${name}.ext`), extensions);
    const sign = ['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
    await openssl(this.#directory, [...sign, '-extfile', `${name}.ext`, '-out', `${name}.crt`]);
    const read = (suffix: string): string => readFileSync(join(this.#directory, name + suffix), 'utf8');
    return { certificate: read('.crt'), key: read('.key') };
  }

  /** Writes a kubeconfig for a user of a server whose certificate is also from this authority. Returns its path. */
  async kubeconfig(subject: string, server: string): Promise<string> {
    const identity = await this.issue(subject);
    const file = join(this.#directory, `issued-${this.#issued}.kubeconfig`);
    writeFileSync(file, kubeconfigText({ server, authority: this.certificate, ...identity }), { mode: 0o600 });
    return file;
  }
}

/** Writes a private key in PEM to a file. */
export async function writeSigningKey(directory: string, file: string): Promise<void> {
  await openssl(directory, ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file]);
}

async function openssl(directory: string, args: readonly string[]): Promise<void> {
  await output('openssl', args, { directory });
}
