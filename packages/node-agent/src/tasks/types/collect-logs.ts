import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { taskType } from '../task-type.ts';

const execute = promisify(execFile);
/** In bytes, of one source. */
const most = 8 << 20;

export const collectLogs = taskType<'collectLogs'>({
  name: 'collect.logs',
  field: 'collectLogs',
  afterCrash: 'rerun',
  check: async () => false,
  async run({ files = [], units = [], lines }, { print, step, signal }) {
    const report: { name: string; message: string }[] = [];
    const collect = async (name: string, read: () => Promise<string>): Promise<void> => {
      signal.throwIfAborted();
      step(`reading ${name}`);
      try {
        print(`==> ${name} <==\n${await read()}\n`);
      } catch (error) {
        report.push({ name: name.slice(0, 253), message: `could not be read: ${(error as Error).message}`.slice(0, 1024) });
      }
    };
    for (const file of files) await collect(file, () => endOf(file, lines));
    for (const unit of units) {
      const args = ['--unit', unit, '--lines', String(lines), '--no-pager', '--output', 'short-iso'];
      await collect(unit, async () => (await execute('journalctl', args, { maxBuffer: most, signal })).stdout);
    }
    return report.length > 0 ? { report } : {};
  },
});

/** The last lines of a file, without reading the rest. */
async function endOf(file: string, lines: number): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, most);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .slice(-lines - 1)
      .join('\n');
  } finally {
    await handle.close();
  }
}
