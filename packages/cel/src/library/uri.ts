import { spendText } from '@capstan/machinery';

/** How often the text is read. */
const readings = 6;

export interface UriParts {
  readonly scheme: string;
  readonly host: string;
  /** As written, with its escapes. */
  readonly path: string;
  readonly query: string;
}

/** Parses an absolute URI or path as Go's `url.ParseRequestURI` does; returns the error message if it is invalid. */
export function parseRequestUri(text: string): UriParts | string {
  const problem = (reason: string): string => `parse ${JSON.stringify(text)}: ${reason}`;
  spendText(text.length * readings);
  if (/[^ -~\x80-\uffff]/.test(text)) return problem('net/url: invalid control character in URL');
  if (text === '') return problem('empty url');
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1] ?? '';
  if (scheme === '' && text.startsWith(':')) return problem('missing protocol scheme');
  const rest = scheme === '' ? text : text.slice(scheme.length + 1);
  const questionMark = rest.indexOf('?');
  const query = questionMark < 0 ? '' : rest.slice(questionMark + 1);
  const hierarchy = questionMark < 0 ? rest : rest.slice(0, questionMark);
  if (!hierarchy.startsWith('/')) {
    return scheme === '' ? problem('invalid URI for request') : { scheme: scheme.toLowerCase(), host: '', path: '', query };
  }
  const hasAuthority = hierarchy.startsWith('//') && (scheme !== '' || !hierarchy.startsWith('///'));
  const slash = hierarchy.indexOf('/', 2);
  const authority = hasAuthority && scheme !== '' ? hierarchy.slice(2, slash < 0 ? undefined : slash) : '';
  const path = hasAuthority && scheme !== '' ? (slash < 0 ? '' : hierarchy.slice(slash)) : hierarchy;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const wrong = wrongAuthority(authority, host) ?? brokenEscape(path);
  return wrong === undefined ? { scheme: scheme.toLowerCase(), host, path: encodePath(path), query } : problem(wrong);
}

function brokenEscape(text: string): string | undefined {
  const broken = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(text);
  return broken === null ? undefined : `invalid URL escape ${JSON.stringify(broken[0])}`;
}

function wrongAuthority(authority: string, host: string): string | undefined {
  const user = authority.slice(0, Math.max(0, authority.length - host.length - 1));
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return 'net/url: invalid userinfo';
  if (host.startsWith('[')) {
    const end = host.lastIndexOf(']');
    if (end < 0) return "missing ']' in host";
    return portProblem(host.slice(end + 1));
  }
  const colon = host.lastIndexOf(':');
  const port = colon < 0 ? undefined : portProblem(host.slice(colon));
  if (port !== undefined) return port;
  const invalid = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\x80-\uffff]/.exec(host);
  if (invalid !== null) return `invalid character ${JSON.stringify(invalid[0])} in host name`;
  return brokenEscape(host);
}

function portProblem(port: string): string | undefined {
  return port === '' || /^:\d*$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`;
}

/** Escapes characters that a path must not contain; existing escapes are kept. */
function encodePath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
