import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Where programs are kept between test runs. */
export function cacheDirectory(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(home(), '.cache'), 'capstan', 'tools');
}

/** The user's home, also if the environment does not name it, as in some services that run tests. */
export function home(): string {
  return homedir() || userInfo().homedir;
}
