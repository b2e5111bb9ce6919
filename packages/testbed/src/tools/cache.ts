import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Where programs are kept between runs of the tests. */
export function cacheDirectory(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(home(), '.cache'), 'capstan', 'tools');
}

/** The user's own directory, also where the environment does not say it, as with some services that run tests. */
export function home(): string {
  return homedir() || userInfo().homedir;
}
