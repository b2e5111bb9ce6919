import type { Shard } from './kinds.ts';

/** The address at which users reach a shard. */
export function addressOf({ spec }: Shard): string {
  return spec?.externalURL ?? spec?.baseURL ?? '';
}
