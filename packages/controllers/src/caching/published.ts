import type { CachedResource } from '@capstan/api';

/** The resource that a CachedResource publishes, as messages name it. */
export function printPublished({ spec }: CachedResource): string {
  return spec?.group ? `${spec.resource}.${spec.group}` : (spec?.resource ?? '');
}
