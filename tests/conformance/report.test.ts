import { existsSync, readFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { keepLog, writePage } from './report.ts';

afterEach(() => void vi.restoreAllMocks());

describe('a page', () => {
  it('is written to the requested file, also after a complete run', () => {
    using directory = temporaryDirectory('report');
    const output = directory.join('page.md');
    writePage('text', { name: 'never.md', isWhole: true, output });
    expect(readFileSync(output, 'utf8')).toBe('text');
  });

  it('of a partial run is printed, and replaces no file', () => {
    const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    writePage('text', { name: 'never.md', isWhole: false, output: undefined });
    expect(printed).toHaveBeenCalledWith('text');
  });
});

describe('a log', () => {
  it('is stored under a name that every file system accepts', () => {
    using directory = temporaryDirectory('report');
    keepLog(directory.join('logs'), 'virtual/apiexport: run_all [It]', 'text');
    expect(readFileSync(directory.join('logs/virtual-apiexport-run_all-It-.log'), 'utf8')).toBe('text');
  });

  it('is not stored unless requested', () => {
    using directory = temporaryDirectory('report');
    keepLog(undefined, 'one', 'text');
    expect(existsSync(directory.join('one.log'))).toBe(false);
  });
});
