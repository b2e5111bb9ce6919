import type { Json, JsonObject, UnfitOperation } from '@capstan/machinery';

/** Explains why an operation cannot be applied, in the words of Kubernetes' error messages. */
export function complaint({ operation, document }: UnfitOperation): string {
  const { op, path, from } = operation;
  const at = textOf(path);
  const place = placeOf(document, at);
  switch (op) {
    case 'test':
      return place === undefined
        ? `test operation does not apply: is missing path: ${at}: missing value`
        : `testing value ${at} failed: test failed`;
    case 'add':
      if (place === undefined) return `add operation does not apply: doc is missing path: ${JSON.stringify(at)}: missing value`;
      return `error in add for path: '${at}': ${misfit(place)}`;
    case 'replace':
      return `replace operation does not apply: doc is missing ${place === undefined ? 'path' : 'key'}: ${at}: missing value`;
    case 'remove':
      if (place === undefined) return `remove operation does not apply: doc is missing path: ${JSON.stringify(at)}: missing value`;
      return `error in remove for path: '${at}': ${misfit(place)}`;
    case 'move':
    case 'copy':
      return transferComplaint(op, { at, from: textOf(from), document });
    default:
      return `Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`;
  }
}

function transferComplaint(op: 'move' | 'copy', { at, from, document }: { at: string; from: string; document: Json }): string {
  const source = placeOf(document, from);
  if (source === undefined) return `${op} operation does not apply: doc is missing from path: ${from}: missing value`;
  if (isThere(source)) return `${op} operation does not apply: doc is missing destination path: ${at}: missing value`;
  return `error in ${op} for path: '${source.key}': ${misfit(source)}`;
}

interface Place {
  readonly holder: JsonObject | Json[];
  readonly key: string;
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isThere({ holder, key }: Place): boolean {
  return Array.isArray(holder) ? holder.at(Number(key)) !== undefined : Object.hasOwn(holder, key);
}

/** The error for a key that a list or map does not have. */
function misfit({ holder, key }: Place): string {
  if (!Array.isArray(holder)) return `Unable to remove nonexistent key: ${key}: missing value`;
  if (!/^[+-]?\d+$/.test(key)) return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
  return `Unable to access invalid index: ${key}: invalid index referenced`;
}

/** The map or list that a path points into; undefined if there is none. */
function placeOf(document: Json, path: string): Place | undefined {
  const steps = path.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (steps.length < 2) return undefined;
  let value: Json | undefined = document;
  for (const step of steps.slice(1, -1)) {
    if (typeof value !== 'object' || value === null || !isThere({ holder: value, key: step })) return undefined;
    value = Array.isArray(value) ? value.at(Number(step)) : value[step];
  }
  return typeof value === 'object' && value !== null ? { holder: value, key: steps.at(-1)! } : undefined;
}
