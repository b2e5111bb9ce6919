import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, writeAtomically } from '@capstan/pki';

/** An agent's knowledge of itself. It is one file, so that a certificate never meets the key of another. */
export interface Identity {
  readonly node: string;
  /** PEM: the private key, the certificate with that of its signer, and the authority of the API servers. */
  readonly key: string;
  readonly certificate: string;
  readonly authority: string;
  /** By the clock of this machine. */
  readonly issuedAt: string;
  readonly expiresAt: string;
  /** The URL of the join command: of one server, or of a load balancer in front of all. */
  readonly entry: string;
  /** The URLs of the API servers that were last known. */
  readonly servers: readonly string[];
  /** SHA-256 of the token that this identity began with: another token begins another. */
  readonly tokenHash: string;
}

const privateMode = 0o600;

/** The files of an agent, readable by nobody else. Every write is atomic and durable. */
export class StateDirectory {
  readonly #identityFile: string;
  readonly #nextKeyFile: string;

  private constructor(directory: string) {
    this.#identityFile = join(directory, 'identity.json');
    this.#nextKeyFile = join(directory, 'next.key');
  }

  static async open(directory: string): Promise<StateDirectory> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return new StateDirectory(directory);
  }

  async read(): Promise<Identity | undefined> {
    const text = await readIfThere(this.#identityFile);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as Identity;
    } catch (error) {
      throw new Error(`${this.#identityFile} is damaged; delete it and enrol this machine with a new token`, { cause: error });
    }
  }

  /** Stores the identity; the key for the next one is then no longer needed. */
  async write(identity: Identity, { keepsNextKey = false } = {}): Promise<void> {
    await writeAtomically(this.#identityFile, `${JSON.stringify(identity, undefined, 2)}\n`, privateMode);
    if (!keepsNextKey) await rm(this.#nextKeyFile, { force: true });
  }

  /**
   * The key for the next certificate, the same until that is stored. An agent that asks again after a crash thus asks for the same key, and is not
   * taken for two machines.
   */
  async nextKey(): Promise<KeyObject> {
    const text = await readIfThere(this.#nextKeyFile);
    if (text !== undefined) return createPrivateKey(text);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeAtomically(this.#nextKeyFile, pemOf(privateKey), privateMode);
    return privateKey;
  }
}

export const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string;
