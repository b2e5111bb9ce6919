/** A file in an archive. Paths are strings of bytes (`latin1`): names of files need not be UTF-8. */
export interface ArchiveEntry {
  /** Relative, with slashes, without `.` and `..`. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'link';
  /** Permission bits. */
  readonly mode: number;
  /** In seconds. */
  readonly modified: number;
  /** In bytes; 0 for everything but files. */
  readonly size: number;
  /** Where a link leads. */
  readonly target?: string;
}

export const blockSize = 512;

/** The bytes from the end of a file to the end of its last block. */
export const paddingOf = (size: number): number => (blockSize - (size % blockSize)) % blockSize;

export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}
