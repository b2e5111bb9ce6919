import type { Shard } from './kinds.ts';

/** Where people reach a shard. */
export function addressOf({ spec }: Shard): string {
  return spec?.externalURL ?? spec?.baseURL ?? '';
}
