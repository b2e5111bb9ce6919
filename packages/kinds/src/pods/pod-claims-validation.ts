import { FieldPath, type Fields, fieldError, isAbsent, itemsOf, names, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';

/** Validates the device claims of a pod, which its containers may use. */
export function checkPodClaims(found: Findings, at: FieldPath, claims: readonly Fields[]): void {
  const seen = new Set<string>();
  for (const [index, claim] of claims.entries()) {
    const path = at.index(index);
    const name = textOf(claim['name']);
    const [own, template] = [claim['resourceClaimName'], claim['resourceClaimTemplateName']];
    if (name === '') found.required(path.child('name'));
    else if (seen.has(name)) found.duplicate(path.child('name'), name);
    else found.invalid(path.child('name'), name, names.dns1123Label(name));
    seen.add(name);
    const shown = { Name: name, ResourceClaimName: own ?? null, ResourceClaimTemplateName: template ?? null };
    if (!isAbsent(own) && !isAbsent(template))
      found.invalid(path, shown, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    if (isAbsent(own) && isAbsent(template))
      found.invalid(path, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    if (!isAbsent(own)) found.invalid(path.child('resourceClaimName'), own, names.dns1123Subdomain(textOf(own)));
    if (!isAbsent(template)) found.invalid(path.child('resourceClaimTemplateName'), template, names.dns1123Subdomain(textOf(template)));
  }
}

/** Static pods cannot have claims, since nothing would allocate them. */
export function refuseClaims(found: Findings, claims: readonly Fields[]): void {
  for (const _ of claims) found.forbidden(FieldPath.of('[]'), 'static pods do not support resource claims');
}

export function claimNames(claims: unknown): ReadonlySet<string> {
  return new Set(
    itemsOf(claims)
      .map((claim) => textOf(claim['name']))
      .filter((name) => name !== ''),
  );
}

/** Validates the claims that a container uses: a whole claim or one of its requests. */
export function checkUsedClaims(
  found: Findings,
  at: FieldPath,
  { used, known }: { used: readonly Fields[]; known: ReadonlySet<string> },
): void {
  const seen = new Set<string>();
  for (const [index, claim] of used.entries()) {
    const path = at.index(index);
    const name = textOf(claim['name']);
    if (name === '') {
      found.required(path);
      continue;
    }
    checkOverlap(found, path, { name, request: textOf(claim['request']), seen });
    if (known.has(name)) continue;
    const which = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`;
    const error = fieldError.notFound(path, name);
    found.add([{ ...error, body: `${error.body}: must be one of the names in pod.spec.resourceClaims${which}` }]);
  }
}

function checkOverlap(found: Findings, at: FieldPath, { name, request, seen }: { name: string; request: string; seen: Set<string> }): void {
  if (seen.has(name)) {
    found.duplicate(at, name);
    return;
  }
  if (request !== '') found.invalid(at.child('request'), request, names.dns1123Label(request));
  const key = request === '' ? name : `${name}/${request}`;
  if (seen.has(key)) found.duplicate(at, key);
  else if (request === '') for (const other of seen) if (other.startsWith(`${name}/`)) found.duplicate(at, name);
  seen.add(key);
}
