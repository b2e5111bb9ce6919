import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

// Strips types and compiles code once instead of at every start. It must be enabled before the first big module is loaded, hence the late
// import.
const cache = cacheDirectory();
if (cache !== undefined) enableCompileCache(join(cache, 'capstan', 'compiled'));

const { runProgram } = await import('./program.ts');
await runProgram(process.argv);

function cacheDirectory(): string | undefined {
  try {
    return process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  } catch {
    // A user id without an account, as in some containers, has no home: Capstan then starts a little slower.
    return undefined;
  }
}
