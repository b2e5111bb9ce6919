import { BOOL, listOf, mapOf, objectOf, STRING } from '../types/type.ts';
import { ArrayList, EntryMap } from '../value/collections.ts';
import { CelError, OpaqueValue, type Value } from '../value/value.ts';
import { type FunctionEntry, member, overload } from './function.ts';
import { parseRequestUri, type UriParts } from './uri.ts';

const URL_TYPE = objectOf('kubernetes.URL');

export class UrlValue extends OpaqueValue {
  readonly typeName = 'kubernetes.URL';
  readonly text: string;
  readonly parts: UriParts;

  constructor(text: string, parts: UriParts) {
    super();
    this.text = text;
    this.parts = parts;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && this.text === other.text;
  }
}

function read(text: string): Value {
  const parts = parseRequestUri(text);
  if (typeof parts === 'string') return new CelError(`URL parse error during conversion from string: ${parts}`);
  return new UrlValue(text, parts);
}

/** The host without its port, and an IPv6 address without its brackets. */
function hostname({ parts: { host } }: UrlValue): string {
  const withoutPort = host.replace(/:\d*$/, '');
  return withoutPort.startsWith('[') && withoutPort.endsWith(']') ? withoutPort.slice(1, -1) : withoutPort;
}

function port({ parts: { host } }: UrlValue): string {
  return /:(\d*)$/.exec(host)?.[1] ?? '';
}

function query({ parts }: UrlValue): Value {
  const values = new Map<string, string[]>();
  for (const pair of parts.query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [key, value] = splitPair(pair);
    if (key === undefined || value === undefined) continue;
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return new EntryMap(Array.from(values, ([key, list]): [Value, Value] => [key, new ArrayList(list)]));
}

function splitPair(pair: string): [string | undefined, string | undefined] {
  const separator = pair.indexOf('=');
  return separator < 0 ? [decode(pair), ''] : [decode(pair.slice(0, separator)), decode(pair.slice(separator + 1))];
}

/** Undefined for an invalid escape; such pairs are dropped. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

export const url: readonly FunctionEntry[] = [
  ['url', [overload('string_to_url', [STRING], URL_TYPE, read)]],
  ['isURL', [overload('is_url_string', [STRING], BOOL, (text: string) => typeof parseRequestUri(text) !== 'string')]],
  ['getScheme', [member('url_get_scheme', [URL_TYPE], STRING, (value: UrlValue) => value.parts.scheme)]],
  ['getHost', [member('url_get_host', [URL_TYPE], STRING, (value: UrlValue) => value.parts.host)]],
  ['getHostname', [member('url_get_hostname', [URL_TYPE], STRING, hostname)]],
  ['getPort', [member('url_get_port', [URL_TYPE], STRING, port)]],
  ['getEscapedPath', [member('url_get_escaped_path', [URL_TYPE], STRING, (value: UrlValue) => value.parts.path)]],
  ['getQuery', [member('url_get_query', [URL_TYPE], mapOf(STRING, listOf(STRING)), query)]],
];

/** For expressions that create JSON patches. */
export const jsonPatch: readonly FunctionEntry[] = [
  [
    'jsonpatch.escapeKey',
    [overload('string_jsonpatch_escapeKey_string', [STRING], STRING, (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'))],
  ],
];
