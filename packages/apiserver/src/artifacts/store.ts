import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Artifact, ArtifactPartStored } from '@capstan/api';
import { StatusError, status } from '@capstan/machinery';

export interface ArtifactLimits {
  /** In bytes: of one artifact, and of all of them together. */
  readonly artifact: number;
  readonly total: number;
}

export const defaultArtifactLimits: ArtifactLimits = { artifact: 8 * 2 ** 30, total: 64 * 2 ** 30 };

export interface ArtifactStoreOptions {
  /** Holds `<sha256>`, the file, and `<sha256>.json` for each artifact, and `<sha256>.part` for each that is being uploaded. */
  readonly directory: string;
  readonly limits?: Partial<ArtifactLimits> | undefined;
  readonly now: () => Date;
}

export interface ArtifactPart {
  readonly name: string;
  /** Of the whole file. */
  readonly size: number;
  /** Bytes before the part. */
  readonly offset: number;
  readonly bytes: Buffer;
}

export const artifactHash = /^[0-9a-f]{64}$/;

/** In milliseconds: an upload that nobody has continued for so long makes way for others. */
const abandonedAfter = 24 * 3_600_000;

/** Files that the owner gives to nodes. An artifact exists once all of it has arrived and has the hash that is its name. */
export class ArtifactStore {
  readonly #options: ArtifactStoreOptions;
  readonly #limits: ArtifactLimits;
  /** Changes of one artifact follow each other. */
  readonly #busy = new Map<string, Promise<unknown>>();

  constructor(options: ArtifactStoreOptions) {
    this.#options = options;
    this.#limits = { ...defaultArtifactLimits, ...options.limits };
  }

  pathOf(sha256: string): string {
    return join(this.#options.directory, sha256);
  }

  /** Undefined if there is none, or not all of it. */
  async find(sha256: string): Promise<Artifact | undefined> {
    if (!artifactHash.test(sha256)) return undefined;
    try {
      const { name, addedAt } = JSON.parse(await readFile(`${this.pathOf(sha256)}.json`, 'utf8')) as Artifact;
      const { size } = await stat(this.pathOf(sha256));
      return { sha256, name, size, addedAt };
    } catch {
      return undefined;
    }
  }

  async list(): Promise<Artifact[]> {
    const names = (await this.#names()).filter((name) => artifactHash.test(name));
    return (await Promise.all(names.map((name) => this.find(name)))).filter((found) => found !== undefined);
  }

  /** Appends a part, unless something before it is missing. The last part completes the artifact, if its hash is right. */
  append(sha256: string, part: ArtifactPart): Promise<ArtifactPartStored> {
    if (!artifactHash.test(sha256)) throw status.badRequest('expected a SHA-256 in lower-case hexadecimal digits');
    return this.#inTurn(sha256, () => this.#append(sha256, part));
  }

  /** False if there was none. */
  remove(sha256: string): Promise<boolean> {
    return this.#inTurn(sha256, async () => {
      const found = await this.find(sha256);
      if (found === undefined) return false;
      await rm(`${this.pathOf(sha256)}.json`, { force: true });
      await rm(this.pathOf(sha256), { force: true });
      return true;
    });
  }

  async #append(sha256: string, { name, size, offset, bytes }: ArtifactPart): Promise<ArtifactPartStored> {
    const known = await this.find(sha256);
    if (known !== undefined) return { size: known.size, complete: true };
    const part = `${this.pathOf(sha256)}.part`;
    const present = (await stat(part).catch(() => undefined))?.size ?? 0;
    if (offset !== present) return { size: present, complete: false };
    if (offset + bytes.length > size) throw status.badRequest(`the part ends after the ${size} bytes that the artifact should have`);
    await this.#checkRoom(size, size - present);
    await mkdir(this.#options.directory, { recursive: true, mode: 0o700 });
    await write(part, present, bytes);
    if (present + bytes.length < size) return { size: present + bytes.length, complete: false };
    await this.#complete({ sha256, name, size, addedAt: this.#options.now().toISOString() }, part);
    return { size, complete: true };
  }

  async #complete(artifact: Artifact, part: string): Promise<void> {
    const { sha256 } = artifact;
    const found = await hashOf(part);
    if (found !== sha256) {
      await rm(part, { force: true });
      throw new StatusError({
        code: 422,
        reason: 'Invalid',
        message: `the file has the SHA-256 ${found}, and ${sha256} was expected; upload it again from its beginning`,
      });
    }
    // The description comes last: the artifact exists when both files do.
    await rename(part, this.pathOf(sha256));
    await writeFile(`${this.pathOf(sha256)}.json.new`, JSON.stringify(artifact), { mode: 0o600, flush: true });
    await rename(`${this.pathOf(sha256)}.json.new`, `${this.pathOf(sha256)}.json`);
  }

  async #checkRoom(size: number, more: number): Promise<void> {
    const { artifact, total } = this.#limits;
    if (size > artifact) throw status.requestTooLarge(`an artifact has at most ${artifact} bytes, and this one has ${size}`);
    const used = await this.#used();
    if (used + more > total)
      throw status.requestTooLarge(
        `artifacts have at most ${total} bytes together, and ${used} are used; remove some with "capstan artifact remove"`,
      );
  }

  /** Bytes in the directory. Uploads that were abandoned are deleted. */
  async #used(): Promise<number> {
    const oldest = this.#options.now().getTime() - abandonedAfter;
    let used = 0;
    for (const name of await this.#names()) {
      const path = join(this.#options.directory, name);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined) continue;
      if (name.endsWith('.part') && found.mtimeMs < oldest) await rm(path, { force: true });
      else used += found.size;
    }
    return used;
  }

  async #names(): Promise<string[]> {
    return readdir(this.#options.directory).catch(() => []);
  }

  async #inTurn<T>(sha256: string, change: () => Promise<T>): Promise<T> {
    const before = this.#busy.get(sha256) ?? Promise.resolve();
    const work = before.catch(() => {}).then(change);
    this.#busy.set(sha256, work);
    try {
      return await work;
    } finally {
      if (this.#busy.get(sha256) === work) this.#busy.delete(sha256);
    }
  }
}

async function write(path: string, length: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    await file.appendFile(bytes);
    await file.datasync();
  } catch (error) {
    // A full disk: a part is stored as a whole or not at all.
    await truncate(path, length).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  // Small pieces, so that other requests are served in between.
  for await (const piece of createReadStream(file, { highWaterMark: 256 << 10 })) hash.update(piece as Buffer);
  return hash.digest('hex');
}
