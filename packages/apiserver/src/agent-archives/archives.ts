import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentArchive, type AgentPlatform, agentPlatforms } from '@capstan/api';
import { StatusError } from '@capstan/machinery';

export interface AgentArchivesOptions {
  /** Holds `<platform>.json`, a `StoredArchive`, for each archive. Others may add some while the server runs. */
  readonly directory: string;
  /** Builds the archive for the platform of the server unless it is there and up to date. Called once, when somebody first asks. */
  readonly prepare?: () => Promise<void>;
}

/** The content of `<platform>.json`. */
export interface StoredArchive extends AgentArchive {
  /** The name of the archive in the same directory. It changes with the content. */
  readonly file: string;
}

/** In milliseconds: a build that failed is not repeated sooner. */
const retryAfter = 30_000;

/** The archives from which machines install the node agent. */
export class AgentArchives {
  readonly #options: AgentArchivesOptions | undefined;
  #prepared: Promise<void> | undefined;

  constructor(options: AgentArchivesOptions | undefined) {
    this.#options = options;
  }

  /** All that exist. Rejects with a 503 that has the reason if there is none. */
  async all(): Promise<readonly StoredArchive[]> {
    const failure = await this.#prepare();
    const found = await Promise.all(agentPlatforms.map((platform) => this.#read(platform)));
    const archives = found.filter((archive) => archive !== undefined);
    if (archives.length > 0) return archives;
    throw unavailable(`this API server has no archive of the node agent: ${failure ?? 'none was built'}`);
  }

  /** Rejects with a 404 or 503 that has the reason if there is none. */
  async find(platform: AgentPlatform): Promise<StoredArchive> {
    const archive = (await this.all()).find((one) => one.platform === platform);
    if (archive !== undefined) return archive;
    throw new StatusError({
      code: 404,
      reason: 'NotFound',
      message: `this API server has no archive of the node agent for ${platform}; on its machine, build one with "capstan node archive --arch ${platform.slice('linux-'.length)}"`,
    });
  }

  pathOf({ file }: StoredArchive): string {
    return join(this.#options?.directory ?? '', file);
  }

  /** The reason of a failure. */
  async #prepare(): Promise<string | undefined> {
    if (this.#options === undefined) return 'it was started without a place for it';
    const { prepare } = this.#options;
    if (prepare === undefined) return undefined;
    this.#prepared ??= prepare();
    try {
      await this.#prepared;
      return undefined;
    } catch (error) {
      const failed = this.#prepared;
      setTimeout(() => {
        if (this.#prepared === failed) this.#prepared = undefined;
      }, retryAfter).unref();
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #read(platform: AgentPlatform): Promise<StoredArchive | undefined> {
    try {
      const archive = JSON.parse(await readFile(join(this.#options?.directory ?? '', `${platform}.json`), 'utf8')) as StoredArchive;
      return (await stat(this.pathOf(archive))).size === archive.size ? archive : undefined;
    } catch {
      return undefined;
    }
  }
}

function unavailable(message: string): StatusError {
  return new StatusError({ code: 503, reason: 'ServiceUnavailable', message });
}
