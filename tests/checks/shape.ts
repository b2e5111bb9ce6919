import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Complaints about the shape of the source tree: files that shadow a folder, and barrels inside a package. */
export function checkShape(root: string, files: readonly string[] = sources(root)): string[] {
  return files.flatMap((file) => {
    const folder = join(root, file.replace(/\.tsx?$/, ''));
    if (existsSync(folder)) return [`${file}: a folder of the same name lies beside it; move the file into it`];
    return isInnerIndex(file) && isBarrel(readFileSync(join(root, file), 'utf8'))
      ? [`${file}: barrels are for the edge of a package; import from the files`]
      : [];
  });
}

function isInnerIndex(file: string): boolean {
  return basename(file) === 'index.ts' && basename(dirname(file)) !== 'src';
}

/** Nothing but exports from elsewhere. */
function isBarrel(text: string): boolean {
  return text.replace(/export (?:type )?(?:\*(?: as \w+)?|\{[^}]*\}) from '[^']+';/g, '').trim() === '';
}

function sources(root: string): string[] {
  return globSync(['packages/*/src/**/*.ts', 'apps/*/src/**/*.{ts,tsx}'], {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  }).sort();
}
