import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

// Types are stripped and code is compiled once, not at every start. It must be on before the first big module is loaded, hence the late import.
enableCompileCache(join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'capstan', 'compiled'));

const { runProgram } = await import('./program.ts');
await runProgram(process.argv);
