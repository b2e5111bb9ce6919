import { YAMLException } from 'js-yaml';
import { maxYamlDepth } from './depth.ts';
import { CodecError } from './error.ts';

/** The part of Go's YAML reader that finds the mistake determines how lines are counted. */
type Finder = 'scanner' | 'parser' | 'decoder';

interface Explanation {
  readonly message: string;
  readonly finder: Finder;
  /** Counted from 0; the line of the mistake if absent. */
  readonly line?: number;
}

/** Translates an error of our YAML reader to that of kube-apiserver's. */
export function yamlError(error: unknown, text: string): CodecError {
  if (!(error instanceof YAMLException) || error.mark === undefined || error.mark === null) {
    return new CodecError(`yaml: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { line, position } = error.mark;
  const found = explain(error.reason, text, position);
  const at = found.line ?? line;
  // Go's reader omits the first line's number, and only its scanner counts from 1.
  const where = found.finder === 'decoder' || at === 0 ? '' : `line ${found.finder === 'scanner' ? at + 1 : at}: `;
  return new CodecError(`yaml: ${where}${found.message}`);
}

const scannerReasons: Record<string, string> = {
  'unknown escape sequence': 'found unknown escape character',
  'tab characters must not be used in indentation': 'found a tab character that violates indentation',
  'a line break is expected': 'did not find expected comment or line break',
  'directive name must not be less than one character in length': 'could not find expected directive name',
  'unacceptable YAML version of the document': 'found incompatible YAML document',
};

function explain(reason: string, text: string, position: number): Explanation {
  if (reason.startsWith('nesting exceeded')) return { message: `exceeded max depth of ${maxYamlDepth}`, finder: 'scanner' };
  const scanner = scannerReasons[reason];
  if (scanner !== undefined) return { message: scanner, finder: reason.startsWith('unacceptable') ? 'decoder' : 'scanner' };
  const alias = /^unidentified alias "(.*)"$/.exec(reason);
  if (alias !== null) return { message: `unknown anchor '${alias[1]}' referenced`, finder: 'decoder' };
  const lines = text.split('\n').length;
  if (reason.endsWith('quoted scalar')) return { message: 'found unexpected end of stream', finder: 'scanner', line: lines - 1 };
  if (reason.includes('within a flow collection')) return { ...unclosed(text), line: lines };
  if (reason === 'deficient indentation') {
    return isInsideQuotes(text, position)
      ? { message: 'found unexpected end of stream', finder: 'scanner', line: lines - 1 }
      : unclosed(text.slice(0, position));
  }
  if (reason === "expected ':' after a mapping key") return { message: "could not find expected ':'", finder: 'scanner', line: lines };
  return misplaced(text, position);
}

/** A flow list or map that is not closed where it should be. */
function unclosed(text: string): Explanation {
  const before = text.trimEnd();
  if (before.endsWith('[') || before.endsWith('{')) return { message: 'did not find expected node content', finder: 'parser' };
  const open = before.lastIndexOf('[') > before.lastIndexOf('{') ? ']' : '}';
  return { message: `did not find expected ',' or '${open}'`, finder: 'parser' };
}

function isInsideQuotes(text: string, position: number): boolean {
  const line = text.slice(0, position).trimEnd();
  return (line.slice(line.lastIndexOf('\n') + 1).match(/"/g)?.length ?? 0) % 2 === 1;
}

/** A misplaced token: the message depends on the token. */
function misplaced(text: string, position: number): Explanation {
  const character = text[position] ?? '';
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  if ('@`%'.includes(character) || line.startsWith('\t'))
    return { message: 'found character that cannot start any token', finder: 'scanner' };
  if (character === ':') return { message: 'mapping values are not allowed in this context', finder: 'scanner' };
  const before = text.slice(0, position).trimEnd();
  if ('}]'.includes(character) && before.endsWith(':')) return { message: 'did not find expected node content', finder: 'parser' };
  const inList = before.slice(before.lastIndexOf('\n') + 1).startsWith('- ');
  return { message: inList ? "did not find expected '-' indicator" : 'did not find expected key', finder: 'parser' };
}
