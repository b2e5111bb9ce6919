import { createHash } from 'node:crypto';

/** The checksum of a module in the format of go.sum and Go's checksum database: a hash over the hashes of the files, ordered by name. */
export class ModuleChecksum {
  readonly #lines: { readonly name: string; readonly hash: string }[] = [];

  add(name: string, content: Buffer): void {
    this.#lines.push({ name, hash: createHash('sha256').update(content).digest('hex') });
  }

  digest(): string {
    const all = createHash('sha256');
    for (const { name, hash } of this.#lines.sort((a, b) => (a.name < b.name ? -1 : 1))) all.update(`${hash}  ${name}\n`);
    return `h1:${all.digest('base64')}`;
  }
}
