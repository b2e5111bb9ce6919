export interface Spec {
  /** The full name, as Kubernetes' own reports write it. */
  readonly name: string;
  /** What it needs beside an API server. */
  readonly needs?: Needs;
}

export interface Needs {
  /** Who gives it: our controllers do the upkeep, those of Kubernetes make pods of deployments and their like, and only a node can run pods. */
  readonly from: 'capstan' | 'kubernetes' | 'a node';
  /** For people, such as `the garbage collector`. */
  readonly what: string;
}

/**
 * Reads a list of specs: one name a line. `# needs something` applies to all lines below it; it names kube-controller-manager or a kubelet where ours are not
 * enough. Other lines with `#` are remarks.
 */
export function parseSpecs(text: string): Spec[] {
  const specs: Spec[] = [];
  let needs: Needs | undefined;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    if (line.startsWith('# needs ')) needs = parseNeeds(line.slice('# needs '.length));
    else if (line !== '' && !line.startsWith('#')) specs.push(needs === undefined ? { name: line } : { name: line, needs });
  }
  return specs;
}

function parseNeeds(what: string): Needs {
  if (what.includes('kubelet')) return { from: 'a node', what };
  return { from: what.includes('kube-controller-manager') ? 'kubernetes' : 'capstan', what };
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
