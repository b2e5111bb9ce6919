import { DamagedRowError } from './checksum.ts';
import { DamagedFileError } from './integrity.ts';
import type { Failure } from './messages.ts';

/** SQLite's primary result codes; extended codes carry them in their low byte. */
const resultCode = { busy: 5, readonly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const;

interface SqliteError extends Error {
  readonly errcode: number;
  readonly errstr: string;
}

/** Translates an error for callers of the store, with advice for its operator. */
export function describeFailure(error: unknown, file: string): Failure {
  if (error instanceof DamagedRowError || error instanceof DamagedFileError) return corrupt(file, error.message);
  if (!isSqliteError(error))
    return { code: 'readonly', message: `cannot use ${file}: ${error instanceof Error ? error.message : String(error)}` };
  const detail = error.message === error.errstr ? error.message : `${error.message} (${error.errstr})`;
  switch (error.errcode & 0xff) {
    case resultCode.full:
      return {
        code: 'readonly',
        message: `the disk that holds ${file} is full: nothing was written, reads still work. Free some space, and writes resume automatically`,
      };
    case resultCode.corrupt:
    case resultCode.notADatabase:
      return corrupt(file, detail);
    case resultCode.busy:
      return { code: 'locked', message: `${file} is in use by another process: stop it first` };
    case resultCode.readonly:
    case resultCode.cannotOpen:
      return {
        code: 'readonly',
        message: `${file} cannot be opened for writing: ${detail}. Check the permissions of the directory and that its file system is not mounted read-only`,
      };
    case resultCode.ioError:
      return {
        code: 'readonly',
        message: `the disk that holds ${file} reports an error: ${detail}. Nothing was written. Check the disk and its free space; writes resume automatically when it works again`,
      };
    default:
      return { code: 'readonly', message: `SQLite cannot write to ${file}: ${detail}` };
  }
}

function corrupt(file: string, detail: string): Failure {
  return {
    code: 'corrupt',
    message: `${file} is damaged: ${detail}. No further writes are accepted. Stop the server, keep a copy of the directory, and restore the newest snapshot`,
  };
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}
