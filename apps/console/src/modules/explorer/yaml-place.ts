/** Where somebody types in a YAML text. */
export interface YamlPlace {
  /** The keys that lead there; `[]` is an entry of a list. */
  readonly path: readonly string[];
  /** The key whose value is typed; undefined while a key is typed. */
  readonly key: string | undefined;
  /** The beginning of the word, and where it begins in the text. */
  readonly typed: string;
  readonly from: number;
}

const keyLine = /^( *)((?:- +)*)([\w./-]*)$/;
const valueLine = /^( *)((?:- +)*)([\w./-]+): +("?)([\w./-]*)$/;
const anyLine = /^( *)((?:- +)*)(?:(["']?)([^\s"'#:][^:#]*?)\3:(?:\s+(.*))?)?/;

/** The place at a position, by the indentation of the lines before it. Undefined where neither a key nor a plain value is typed. */
export function yamlPlace(text: string, position: number): YamlPlace | undefined {
  const before = text.slice(0, position).split('\n');
  const line = before.pop() ?? '';
  const value = valueLine.exec(line);
  const found = value ?? keyLine.exec(line);
  if (found === null) return undefined;
  const [, indent = '', dashes = ''] = found;
  const typed = value === null ? (found[3] ?? '') : (value[5] ?? '');
  const path = pathAbove(before, { indent: indent.length, dashes });
  return { path, key: value?.[3], typed, from: position - typed.length };
}

interface Start {
  readonly indent: number;
  readonly dashes: string;
}

/** Goes up line by line: a key with a smaller indentation and no value of its own contains everything below it. */
function pathAbove(lines: readonly string[], { indent, dashes }: Start): readonly string[] {
  const path: string[] = [];
  let column = indent + dashes.length;
  /** The last step was a dash. Its list may have the indentation of its key. */
  let isDash = false;
  const enter = (start: number, text: string): void => {
    for (let at = text.lastIndexOf('-'); at >= 0; at = at === 0 ? -1 : text.lastIndexOf('-', at - 1)) {
      if (start + at >= column) continue;
      path.unshift('[]');
      column = start + at;
      isDash = true;
    }
  };
  enter(indent, dashes);
  for (const line of lines.toReversed()) {
    if (column === 0 && !isDash) break;
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    if (line.startsWith('---')) break;
    const [, spaces = '', marks = '', , key, rest = ''] = anyLine.exec(line) ?? [];
    const keyColumn = spaces.length + marks.length;
    const isAbove = isDash ? keyColumn <= column : keyColumn < column;
    if (key !== undefined && isAbove && (rest === '' || rest.startsWith('#'))) {
      path.unshift(key);
      column = keyColumn;
      isDash = false;
    }
    enter(spaces.length, marks);
  }
  return path;
}

/** The kind that a text names, from its first lines without indentation. */
export function kindIn(text: string): { readonly apiVersion: string; readonly kind: string } | undefined {
  const field = (name: string): string | undefined => new RegExp(`^${name}: *["']?([\\w./-]+)`, 'm').exec(text)?.[1];
  const [apiVersion, kind] = [field('apiVersion'), field('kind')];
  return apiVersion === undefined || kind === undefined ? undefined : { apiVersion, kind };
}
