import type { KubeObject } from '@capstan/machinery';
import { itemsOf } from '@capstan/machinery';
import type { Strategy } from '../strategy.ts';

const mountableAnnotation = 'kubernetes.io/enforce-mountable-secrets';

/** Keeps only the names of an account's secrets. */
function keepSecretNames(object: KubeObject): void {
  const secrets = itemsOf(object['secrets']);
  if (secrets.length > 0) object['secrets'] = secrets.map(({ name }) => (name ? { name } : {}));
}

const hasMountableAnnotation = (object: KubeObject): boolean => Object.hasOwn(object.metadata.annotations ?? {}, mountableAnnotation);

function warning(): string {
  return `metadata.annotations[${mountableAnnotation}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
}

export const serviceaccounts: Strategy = {
  returnDeletedObject: true,
  prepareForCreate(object, context) {
    keepSecretNames(object);
    if (hasMountableAnnotation(object)) context.warn(warning());
  },
  prepareForUpdate(object, old, context) {
    keepSecretNames(object);
    if (hasMountableAnnotation(object) && !hasMountableAnnotation(old)) context.warn(warning());
  },
};
