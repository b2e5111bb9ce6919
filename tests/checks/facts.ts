import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A name that parts of the platform have to agree on: an annotation, a label, a finalizer, a group of kcp or of ours. */
const fact =
  /^(?:export )?const (\w+)(?::[^=]+)? = (?:asClusterId\()?'((?:[a-z.-]+\.)?(?:kcp\.io|capstan\.dev)(?:\/(?!v\d)[\w.-]*)?|system:[\w:-]+)'\)?;|^(?:export )?const (\w*[cC]luster) = (?:asClusterId\()?'(root)'\)?;/gm;

/** The address of a kind of kcp or of ours, spelled out: `group: 'apis.kcp.io', resource: 'apiexports'`. */
const address = /\bgroup: '((?:[a-z.-]+\.)?(?:kcp\.io|capstan\.dev))',\s*(?:version: '\w+',\s*)?resource: '(\w+)'/g;

/** Complaints about facts that are defined more than once: all but the first definition should import it. Kinds are defined in the api package only. */
export function checkFacts(root: string, files: readonly string[] = sources(root)): string[] {
  const known = new Map<string, string>();
  const faults: string[] = [];
  for (const file of files) {
    const content = readFileSync(join(root, file), 'utf8');
    for (const [, named, text, cluster, root_] of content.matchAll(fact)) {
      const [name, value] = [named ?? cluster!, text ?? root_!];
      const place = `${file} (${name})`;
      const first = known.get(value);
      if (first === undefined) known.set(value, place);
      else faults.push(`${file}: ${name} is '${value}', which ${first} defines already; import it`);
    }
    if (rank(file) === 0) continue;
    for (const [, group, resource] of content.matchAll(address))
      faults.push(`${file}: spells out the kind ${resource}.${group}; import its reference from @capstan/api, or define it there`);
  }
  return faults;
}

/** The api package first: definitions belong there. */
function sources(root: string): string[] {
  const files = globSync(['packages/*/src/**/*.ts', 'apps/*/src/**/*.{ts,tsx}'], {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  });
  return files
    .filter((file) => !file.endsWith('.test.ts') && !file.includes('/generated/'))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const rank = (file: string): number => (file.startsWith('packages/api/') ? 0 : 1);
