export interface Spec {
  /** The full name, as in Kubernetes' own reports. */
  readonly name: string;
  /** Needed besides an API server. */
  readonly needs?: Needs;
}

export interface Needs {
  /**
   * Who provides it: our controllers for the upkeep, Kubernetes' controllers for pods of Deployments and similar, and a node to run pods.
   */
  readonly from: 'capstan' | 'kubernetes' | 'a node';
  /** For people, such as `the garbage collector`. */
  readonly what: string;
}

/**
 * Parses a list of specs: one name per line. `# needs something` applies to all lines below it; it names kube-controller-manager or a
 * kubelet if our own controllers are not enough. Other lines with `#` are comments.
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

/** The specs whose names contain all of the words, in any order and case. */
export function focused(specs: readonly Spec[], words: string): Spec[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return specs.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
}

/** A Go regular expression that matches this name, and no longer one, at the end of the text. */
export function focusPattern(name: string): string {
  return `${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}$`;
}
