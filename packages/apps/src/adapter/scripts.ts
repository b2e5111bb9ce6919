import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A NodeScript of an adapter that is a part of Capstan. */
export interface AdapterScript {
  readonly name: string;
  readonly description: string;
  readonly content: string;
  readonly sha256: string;
}

const extension = '.sh';
const shared = `common${extension}`;
/** The line by which a script of an adapter uses the shared file. */
const sharing = `. ./${shared}\n`;

/**
 * The scripts in `adapters/<adapter>/scripts`: `probe.sh` of the adapter `slurm` is the NodeScript `slurm-probe`. The first comment after the line with the interpreter describes
 * it. `common.sh` is no script of its own: a NodeScript is one file, so it replaces the line `. ./common.sh` of others. The build copies the folders to where this finds them.
 */
export function scriptsOf(adapter: string): readonly AdapterScript[] {
  const folder = join(import.meta.dirname, '../adapters', adapter, 'scripts');
  const files = readdirSync(folder).filter((file) => file.endsWith(extension));
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const common = files.includes(shared) ? read(shared) : '';
  return files
    .filter((file) => file !== shared)
    .sort()
    .map((file) =>
      script(
        `${adapter}-${file.slice(0, -extension.length)}`,
        read(file).replace(sharing, () => common),
      ),
    );
}

export function script(name: string, content: string): AdapterScript {
  const [, comment = ''] = content.split('\n');
  return {
    name,
    description: comment.startsWith('#') ? comment.replace(/^#\s*/, '') : '',
    content,
    sha256: createHash('sha256').update(content).digest('hex'),
  };
}

/** For `permitted.scripts` of an App: exactly these contents. */
export function exactScripts(scripts: readonly AdapterScript[]): { readonly name: string; readonly sha256: string }[] {
  return scripts.map(({ name, sha256 }) => ({ name, sha256 }));
}
