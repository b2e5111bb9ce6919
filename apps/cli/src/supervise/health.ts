import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { HealthCheck } from './description.ts';

/** Asks a process whether it is healthy: `ok`, or the reason why it is not. */
export async function healthOf({ url, authorityFile }: HealthCheck, timeout = 3_000): Promise<string> {
  try {
    const options = { timeout, agent: false as const };
    const { code, text } = await new Promise<{ code: number; text: string }>((resolve, reject) => {
      const outgoing = url.startsWith('https:')
        ? httpsRequest(url, { ...options, ...(authorityFile && { ca: readFileSync(authorityFile) }) })
        : httpRequest(url, options);
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${timeout} ms`)));
      outgoing.on('error', reject);
      outgoing.on('response', (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          body = (body + part).slice(0, 2_000);
        });
        answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text: body }));
        answer.on('error', reject);
      });
      outgoing.end();
    });
    if (code >= 200 && code <= 299) return 'ok';
    return text.trim().split('\n')[0] || `answered with ${code}`;
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return message || String(code);
  }
}

/** The resident memory of a process in bytes; undefined if it has ended. */
export function memoryOf(pid: number): number | undefined {
  try {
    if (process.platform !== 'linux') return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found === null ? undefined : Number(found[1]) * 1024;
  } catch {
    return undefined;
  }
}
