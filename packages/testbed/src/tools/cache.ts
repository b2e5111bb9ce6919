import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where programs are kept between runs of the tests. */
export function cacheDirectory(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'capstan', 'tools');
}
