import type { JsonObject } from '../json.ts';

/** The list of documents at `/openapi/v3`: the path of each group and version, with the hash that its address carries. */
export function openapiV3Index(hashes: ReadonlyMap<string, string>, prefix = ''): JsonObject {
  const paths: JsonObject = {};
  for (const [path, hash] of hashes) paths[path] = { serverRelativeURL: `${prefix}/openapi/v3/${path}?hash=${hash}` };
  return { paths };
}

/** `api/v1` or `apis/apps/v1`: how the index and the address name a group and version. */
export function openapiV3Path({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}
