import { Failure } from '../failure.ts';

/** API versions that Capstan, like Kubernetes, serves only on request. */
export const optionalVersions = ['admissionregistration.k8s.io/v1beta1'] as const;

/** `api/beta` and `api/all` mean all of them, as in Kubernetes. */
const everything: ReadonlySet<string> = new Set(['api/all', 'api/beta']);

/** Parses `--runtime-config admissionregistration.k8s.io/v1beta1=true,…` into the versions that it enables. Later entries win. */
export function parseRuntimeConfig(value: string): string[] {
  const served = new Set<string>();
  for (const entry of value.split(',').map((part) => part.trim())) {
    const [name = '', choice = 'true'] = entry.split('=');
    const known = optionalVersions.filter((version) => version === name || everything.has(name));
    if (known.length === 0 || (choice !== 'true' && choice !== 'false')) throw unreadable(entry);
    for (const version of known) {
      if (choice === 'true') served.add(version);
      else served.delete(version);
    }
  }
  return [...served];
}

function unreadable(entry: string): Failure {
  const expected = [...optionalVersions, ...everything].map((name) => `${name}=true`).join(', ');
  return new Failure('usage', `--runtime-config: expected ${expected}, or several of them separated by commas, found "${entry}".`);
}
