import type { JsonObject } from '../json.ts';

/** The index of documents at `/openapi/v3`: the path of each group and version, and its URL with a content hash. */
export function openapiV3Index(hashes: ReadonlyMap<string, string>, prefix = ''): JsonObject {
  const paths: JsonObject = {};
  for (const [path, hash] of hashes) paths[path] = { serverRelativeURL: `${prefix}/openapi/v3/${path}?hash=${hash}` };
  return { paths };
}

/** `api/v1` or `apis/apps/v1`: the name of a group and version in the index and in the URL. */
export function openapiV3Path({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}
