import { compileGlob, type Glob } from './glob.ts';

/** Any number of folders. */
const anyFolders = Symbol('**');
type Segment = Glob | typeof anyFolders;

interface Rule {
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
  /** Relative to the folder of the file with the rule. */
  readonly segments: readonly Segment[];
}

/** The rules of one `.gitignore`. Its text is a string of bytes, as are all paths. */
export function parseRules(text: string): Rule[] {
  return text
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .flatMap((line) => {
      const rule = ruleOf(withoutTrailingSpaces(line.replace(/\r$/, '')));
      return rule === undefined ? [] : [rule];
    });
}

/** A space counts if a backslash precedes it. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === ' ' && line[end - 2] !== '\\') end--;
  return line.slice(0, end);
}

function ruleOf(line: string): Rule | undefined {
  if (line === '' || line.startsWith('#')) return undefined;
  const isNegated = line.startsWith('!');
  const whole = isNegated ? line.slice(1) : line;
  const isForFolders = whole.endsWith('/');
  const pattern = whole.replace(/\/$/, '');
  if (pattern === '') return undefined;
  const isAnchored = pattern.includes('/');
  const names = pattern.replace(/^\//, '').split('/');
  const segments = names.map((name): Segment | undefined => (name === '**' && isAnchored ? anyFolders : compileGlob(name)));
  if (segments.includes(undefined)) return undefined;
  return { isNegated, isForFolders, segments: (isAnchored ? segments : [anyFolders, ...segments]) as Segment[] };
}

/** Like a glob, with folders instead of characters. `**` at the end stands for something inside. */
function matchesPath(segments: readonly Segment[], path: readonly string[]): boolean {
  let [at, segment, starAt, starSegment] = [0, 0, 0, -1];
  while (at < path.length) {
    const one = segments[segment];
    if (one === anyFolders) {
      if (segment === segments.length - 1) return true;
      starSegment = segment++;
      starAt = at;
    } else if (one?.(path[at]!)) {
      segment++;
      at++;
    } else if (starSegment >= 0) {
      segment = starSegment + 1;
      at = ++starAt;
    } else return false;
  }
  return segment === segments.length;
}

/** The rules that apply in a folder: its own, and those of the folders above it. */
export class IgnoreRules {
  readonly #above: IgnoreRules | undefined;
  readonly #folder: readonly string[];
  readonly #rules: readonly Rule[];

  private constructor(above: IgnoreRules | undefined, folder: readonly string[], rules: readonly Rule[]) {
    this.#above = above;
    this.#folder = folder;
    this.#rules = rules;
  }

  static none(): IgnoreRules {
    return new IgnoreRules(undefined, [], []);
  }

  /** With the rules of one more file in a folder, which take precedence. */
  with(folder: readonly string[], text: string): IgnoreRules {
    const rules = parseRules(text);
    return rules.length === 0 ? this : new IgnoreRules(this, folder, rules);
  }

  /** Whether a path is ignored, if the folders above it are not: nothing in an ignored folder can be included again. */
  ignores(path: readonly string[], isFolder: boolean): boolean {
    const inside = path.slice(this.#folder.length);
    const last = this.#rules.findLast(({ isForFolders, segments }) => (isFolder || !isForFolders) && matchesPath(segments, inside));
    return last === undefined ? (this.#above?.ignores(path, isFolder) ?? false) : !last.isNegated;
  }
}
