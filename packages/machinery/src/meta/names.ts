/**
 * The rules for names, label keys and label values, in Kubernetes' words. Each function returns the errors in a text, if any. They run on
 * every write, so valid text takes one pass over its characters; patterns appear only in messages.
 */

/** Returns the errors in a name. A prefix (generateName) may end in a dash. */
export type NameCheck = (name: string, isPrefix: boolean) => string[];

const nothingWrong = Object.freeze([]) as unknown as string[];

const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;
const DASH = 8;
const DOT = 16;
const UNDERSCORE = 32;

const LOWER_ALPHANUMERIC = LOWER | DIGIT;
const ALPHANUMERIC = LOWER | UPPER | DIGIT;
const KEY_CHARACTER = ALPHANUMERIC | DASH | DOT | UNDERSCORE;

const classes = new Uint8Array(128);
for (let code = 0x61; code <= 0x7a; code++) classes[code] = LOWER;
for (let code = 0x41; code <= 0x5a; code++) classes[code] = UPPER;
for (let code = 0x30; code <= 0x39; code++) classes[code] = DIGIT;
classes[0x2d] = DASH;
classes[0x2e] = DOT;
classes[0x5f] = UNDERSCORE;

/** The class of the character at an index; 0 if no name may contain it. */
function classAt(text: string, index: number): number {
  return classes[text.charCodeAt(index)] ?? 0;
}

function consistsOf(text: string, start: number, allowed: number): boolean {
  for (let index = start; index < text.length; index++) if ((classAt(text, index) & allowed) === 0) return false;
  return text.length > start;
}

/** Whether all characters are in `allowed`, and the first and last in `edge`. */
function isBounded(text: string, edge: number, allowed: number): boolean {
  return text !== '' && (classAt(text, 0) & edge) !== 0 && (classAt(text, text.length - 1) & edge) !== 0 && consistsOf(text, 0, allowed);
}

function isSubdomain(text: string, end = text.length): boolean {
  let previous = DOT;
  for (let index = 0; index < end; index++) {
    const current = classAt(text, index);
    if (
      current === DOT ? (previous & LOWER_ALPHANUMERIC) === 0 : current === DASH ? previous === DOT : (current & LOWER_ALPHANUMERIC) === 0
    ) {
      return false;
    }
    previous = current;
  }
  return (previous & LOWER_ALPHANUMERIC) !== 0;
}

const isLabel = (text: string): boolean => isBounded(text, LOWER_ALPHANUMERIC, LOWER_ALPHANUMERIC | DASH);

/** Checks from `start` to the end: the last part of a qualified name, or a label's value. */
function isKeyPart(text: string, start: number): boolean {
  return (
    (classAt(text, start) & ALPHANUMERIC) !== 0 &&
    (classAt(text, text.length - 1) & ALPHANUMERIC) !== 0 &&
    consistsOf(text, start, KEY_CHARACTER)
  );
}

const maxLengthMessage = (length: number): string => `must be no more than ${length} characters`;
export const rangeMessage = (low: number, high: number): string => `must be between ${low} and ${high}, inclusive`;

export function patternMessage(rule: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${rule} (regex used for validation is '${pattern}')`;
  return `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}regex used for validation is '${pattern}')`;
}

const keyPattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`;

const keyMessage = patternMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  keyPattern,
  'MyName',
  'my.name',
  '123-abc',
);
const labelValueMessage = patternMessage(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${keyPattern})?`,
  'MyValue',
  'my_value',
  '12345',
);
const subdomainMessage = patternMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomainPattern,
  'example.com',
);
const labelMessage = patternMessage(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelPattern,
  'my-name',
  '123-abc',
);
const dns1035Message = patternMessage(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  'my-name',
  'abc-123',
);
const wildcardMessage = patternMessage(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${subdomainPattern}`,
  '*.example.com',
);
const configMapKeyMessage = patternMessage(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  '[-._a-zA-Z0-9]+',
  'key.name',
  'KEY_NAME',
  'key-name',
);

/** A generated suffix follows, so a trailing dash counts as a letter. */
function withoutTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

/** Limits are in bytes. The UTF-8 length only matters for text that is rejected anyway. */
function problems(text: string, maxLength: number, message: string | undefined): string[] {
  const tooLong = (message === undefined ? text.length : Buffer.byteLength(text)) > maxLength;
  if (!tooLong) return message === undefined ? nothingWrong : [message];
  return message === undefined ? [maxLengthMessage(maxLength)] : [maxLengthMessage(maxLength), message];
}

/** The names of most kinds: `my-name.example.com`. */
export function dns1123Subdomain(value: string, isPrefix = false): string[] {
  const name = isPrefix ? withoutTrailingDash(value) : value;
  return problems(name, 253, isSubdomain(name) ? undefined : subdomainMessage);
}

/** Names of namespaces, and other names that become one label of a domain name. */
export function dns1123Label(value: string, isPrefix = false): string[] {
  const name = isPrefix ? withoutTrailingDash(value) : value;
  if (isLabel(name)) return problems(name, 63, undefined);
  return problems(name, 63, isSubdomain(name) ? 'must not contain dots' : labelMessage);
}

/** Names of services: a label that begins with a letter. */
export function dns1035Label(value: string, isPrefix = false): string[] {
  const name = isPrefix ? withoutTrailingDash(value) : value;
  return problems(name, 63, isLabel(name) && classAt(name, 0) === LOWER ? undefined : dns1035Message);
}

export function wildcardDns1123Subdomain(value: string): string[] {
  return problems(value, 253, value.startsWith('*.') && isSubdomain(value.slice(2)) ? undefined : wildcardMessage);
}

/** Keys of labels, finalizers, conditions: `name` or `example.com/name`. */
export function qualifiedName(value: string): string[] {
  const slash = value.indexOf('/');
  if (value.length - slash <= 64 && slash <= 253 && (slash === -1 || isSubdomain(value, slash)) && isKeyPart(value, slash + 1)) {
    return nothingWrong;
  }
  return qualifiedNameProblems(value);
}

function qualifiedNameProblems(value: string): string[] {
  const parts = value.split('/');
  if (parts.length > 2) {
    return [`a qualified name ${keyMessage} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const wrong: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) {
    if (parts[0] === '') wrong.push('prefix part must be non-empty');
    else wrong.push(...dns1123Subdomain(parts[0]!).map((message) => `prefix part ${message}`));
  }
  if (name === '') wrong.push('name part must be non-empty');
  else if (Buffer.byteLength(name) > 63) wrong.push(`name part ${maxLengthMessage(63)}`);
  if (!isKeyPart(name, 0)) wrong.push(`name part ${keyMessage}`);
  return wrong;
}

/** Like a qualified name, but the prefix may contain upper case. */
export function annotationKey(value: string): string[] {
  const wrong = qualifiedName(value);
  return wrong.length === 0 ? wrong : qualifiedName(value.toLowerCase());
}

export function labelValue(value: string): string[] {
  return value === '' ? nothingWrong : problems(value, 63, isKeyPart(value, 0) ? undefined : labelValueMessage);
}

/** Keys of ConfigMaps and Secrets, which become file names. */
export function configMapKey(value: string): string[] {
  const wrong = problems(value, 253, consistsOf(value, 0, KEY_CHARACTER) ? undefined : configMapKeyMessage);
  return value.startsWith('.') ? [...wrong, ...directoryProblems(value)] : wrong;
}

/** Names that would leave a directory when used as a file name. */
function directoryProblems(value: string): string[] {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : nothingWrong;
}

/** The minimum for any name: it becomes part of a URL's path. */
export function pathSegment(name: string, isPrefix = false): string[] {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  const slash = name.includes('/');
  const percent = name.includes('%');
  if (!slash && !percent) return nothingWrong;
  return [...(slash ? ["may not contain '/'"] : []), ...(percent ? ["may not contain '%'"] : [])];
}

/** A named port of a container or service. */
export function portName(value: string): string[] {
  const wrong: string[] = [];
  if (Buffer.byteLength(value) > 15) wrong.push(maxLengthMessage(15));
  if (!consistsOf(value, 0, LOWER_ALPHANUMERIC | DASH)) {
    wrong.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) wrong.push('must contain at least one letter (a-z)');
  if (value.includes('--')) wrong.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) wrong.push('must not begin or end with a hyphen');
  return wrong;
}

export function portNumber(value: number): string[] {
  return value >= 1 && value <= 65535 ? nothingWrong : [rangeMessage(1, 65535)];
}
