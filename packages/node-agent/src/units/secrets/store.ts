import { hash } from 'node:crypto';
import { chmod, lstat, mkdir, open, readFile, rename, rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isObject } from '@capstan/machinery';

/** Values that the tenant keeps in Secrets, and that the program gets as variables. */
export interface UnitSecrets {
  readonly env: Readonly<Record<string, string>>;
  /** As in a Secret of the type kubernetes.io/dockerconfigjson. */
  readonly pullConfig?: string;
}

/** Keeps the secrets of units, never on a disk. They are gone after a restart of the machine. */
export interface SecretStore {
  get(unit: string): Promise<UnitSecrets | undefined>;
  put(unit: string, secrets: UnitSecrets): Promise<void>;
  remove(unit: string): Promise<void>;
}

/** File systems that are in memory. */
const memory: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** A store for the agent with this state directory: files in memory, so that they survive the agent, or else the memory of the agent itself. */
export async function openSecretStore(stateDirectory: string, candidates = usualFolders()): Promise<SecretStore> {
  const name = hash('sha256', resolve(stateDirectory)).slice(0, 16);
  for (const candidate of candidates) {
    const folder = join(candidate, name);
    try {
      // Others may have made the folder above, in a place where everybody may: it must be ours before anything is written.
      for (const path of [candidate, folder]) await ensureOwn(path);
      if (memory.has((await statfs(folder)).type)) return new FileSecrets(folder);
      await rm(folder, { recursive: true, force: true });
    } catch {
      // Not this one.
    }
  }
  return new MemorySecrets();
}

async function ensureOwn(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch(ignoreExisting);
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== process.getuid!()) throw new Error(`${path} belongs to somebody else`);
  await chmod(path, 0o700);
}

function usualFolders(): string[] {
  return ['/run/capstan', `/dev/shm/capstan-${process.getuid!()}`];
}

class FileSecrets implements SecretStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(unit: string): Promise<UnitSecrets | undefined> {
    const text = await readFile(join(this.#folder, unit), 'utf8').catch(() => undefined);
    return text === undefined ? undefined : parseSecrets(text);
  }

  async put(unit: string, secrets: UnitSecrets): Promise<void> {
    const file = join(this.#folder, unit);
    const handle = await open(`${file}.new`, 'w', 0o600);
    try {
      await handle.writeFile(JSON.stringify(secrets));
    } finally {
      await handle.close();
    }
    await rename(`${file}.new`, file);
  }

  async remove(unit: string): Promise<void> {
    await rm(join(this.#folder, unit), { force: true });
  }
}

/** Where nothing but the agent's own memory is safe. */
export class MemorySecrets implements SecretStore {
  readonly #secrets = new Map<string, UnitSecrets>();

  async get(unit: string): Promise<UnitSecrets | undefined> {
    return this.#secrets.get(unit);
  }

  async put(unit: string, secrets: UnitSecrets): Promise<void> {
    this.#secrets.set(unit, secrets);
  }

  async remove(unit: string): Promise<void> {
    this.#secrets.delete(unit);
  }
}

/** Undefined if the text is not of this form. */
export function parseSecrets(text: string): UnitSecrets | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !isTextMap(value['env'])) return undefined;
  const { env, pullConfig } = value;
  if (pullConfig !== undefined && typeof pullConfig !== 'string') return undefined;
  if (Object.entries(env).some(([name, text_]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || text_.includes('\0'))) return undefined;
  return { env, ...(pullConfig !== undefined && { pullConfig }) };
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function isTextMap(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((one) => typeof one === 'string');
}
