export interface Spec {
  /** The full name, as Kubernetes' own reports write it. */
  readonly name: string;
  /** What it needs beside an API server, such as a controller. */
  readonly needs?: string;
}

/** Reads a list of specs: one name a line; `# needs something` applies to all lines below it, other lines with `#` are remarks. */
export function parseSpecs(text: string): Spec[] {
  const specs: Spec[] = [];
  let needs: string | undefined;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    if (line.startsWith('# needs ')) needs = line.slice('# needs '.length);
    else if (line !== '' && !line.startsWith('#')) specs.push(needs === undefined ? { name: line } : { name: line, needs });
  }
  return specs;
}

/** Those whose names have all of the words, in any order and case. */
export function focused(specs: readonly Spec[], words: string): Spec[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return specs.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
}

/** A regular expression, as Go reads it, that matches this name at the end of the text and no longer one. */
export function focusPattern(name: string): string {
  return `${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}$`;
}
