import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** In milliseconds: how long a browser may take to read the file. */
const readWithin = 10_000;

/** The program that opens an address in the user's browser; undefined if there seems to be no browser. */
export function browserProgram(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string | undefined {
  if (platform === 'darwin') return 'open';
  const hasScreen = [environment['DISPLAY'], environment['WAYLAND_DISPLAY']].some((one) => one !== undefined && one !== '');
  return platform === 'linux' && hasScreen ? 'xdg-open' : undefined;
}

/**
 * Opens a link that contains a secret. Other users of the machine can see the arguments of programs, so the browser gets the address of a file that only this user can
 * read, and which leads to the link. False if no browser could be started.
 */
export async function openPrivately(link: string, program: string, within = readWithin): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-console-'));
  try {
    const file = join(directory, 'sign-in.html');
    writeFileSync(
      file,
      `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${escaped(link)}">\n`,
      {
        mode: 0o600,
      },
    );
    if (!(await started(program, pathToFileURL(file).href))) return false;
    await sleep(within);
    return true;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function started(program: string, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [address], { stdio: 'ignore', detached: true });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
    child.unref();
    // One that goes on is the browser itself.
    setTimeout(() => resolve(true), 3_000).unref();
  });
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
