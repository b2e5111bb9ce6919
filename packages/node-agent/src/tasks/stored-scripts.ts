import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeScript, nodeScriptKind } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { writeAtomically } from '@capstan/pki';
import { TaskFailure } from './failure.ts';
import type { ScriptCatalog } from './types/process-run.ts';

/** The NodeScripts of root:platform. Each content becomes a file with its hash as the name, which is never changed. */
export class StoredScripts implements ScriptCatalog {
  readonly #client: Client;
  readonly #directory: string;
  /** Writes in progress, by file: tasks that run the same script at once must not write it over each other. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor({ client, directory }: { readonly client: Client; readonly directory: string }) {
    this.#client = client;
    this.#directory = directory;
  }

  async find(name: string, sha256?: string): Promise<string | undefined> {
    const content = await this.#contentOf(name);
    if (content === undefined) return undefined;
    const found = createHash('sha256').update(content).digest('hex');
    if (sha256 !== undefined && sha256 !== found)
      throw new TaskFailure('ScriptChanged', `expected the script ${name} with the SHA-256 ${sha256}, but found ${found}`);
    const file = join(this.#directory, found);
    let writing = this.#writing.get(file);
    if (writing === undefined) {
      writing = this.#ensure(file, content).finally(() => this.#writing.delete(file));
      this.#writing.set(file, writing);
    }
    await writing;
    return file;
  }

  async #ensure(file: string, content: string): Promise<void> {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === content) return;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await writeAtomically(file, content, 0o700);
  }

  async #contentOf(name: string): Promise<string | undefined> {
    try {
      return (await this.#client.resource<NodeScript>(nodeScriptKind).get(name)).spec.content;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
