import { isPath, restPath } from '@capstan/api';
import { Problem } from '../problems/problem.ts';

/** The address of a request, taken apart. */
export interface Address {
  /** The path or id of the workspace in `/clusters/<workspace>`; undefined if the address names none. */
  readonly workspace: string | undefined;
  /** Below `/api/v1`, decoded. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

const longestAddress = 8_192;
const mostParameters = 64;
const workspacePrefix = '/clusters/';
const noQuery = new URLSearchParams();

/** Parses the address of a request. Undefined if it is not below `/api/v1`. Anything that two programs could read differently is refused. */
export function parseAddress(url: string): Address | undefined {
  if (url.length > longestAddress) throw new Problem('uri_too_long', `The address may have at most ${longestAddress} characters.`);
  const mark = url.indexOf('?');
  let path = mark < 0 ? url : url.slice(0, mark);
  let workspace: string | undefined;
  if (path.startsWith(workspacePrefix)) {
    const end = path.indexOf('/', workspacePrefix.length);
    const named = path.slice(workspacePrefix.length, end < 0 ? undefined : end).replaceAll(/%3a/gi, ':');
    if (!isPath(named))
      throw new Problem(
        'invalid_path',
        'Expected the path of a workspace after /clusters/, such as /clusters/root:acme:web/api/v1/gpu-units.',
      );
    workspace = named;
    path = end < 0 ? '' : path.slice(end);
  }
  if (path !== restPath && !path.startsWith(`${restPath}/`)) return undefined;
  const rest = path.slice(restPath.length + 1);
  const segments = rest === '' ? [] : rest.replace(/\/$/, '').split('/').map(decoded);
  return { workspace, segments, query: mark < 0 ? noQuery : queryOf(url.slice(mark + 1)) };
}

function decoded(segment: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    throw new Problem('invalid_path', 'The path contains a percent sign that begins no valid escape.');
  }
  // Other programs on the way may decode or shorten such segments.
  if (text === '' || text === '.' || text === '..' || /[/\\%]|\p{Cc}/u.test(text))
    throw new Problem('invalid_path', 'A segment of the path is empty, or contains characters that no name has.');
  return text;
}

function queryOf(text: string): URLSearchParams {
  const query = new URLSearchParams(text);
  if (query.size > mostParameters)
    throw new Problem('invalid_parameter', `Expected at most ${mostParameters} parameters, found ${query.size}.`);
  return query;
}
