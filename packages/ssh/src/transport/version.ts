import { SshError } from '../error.ts';

/** RFC 4253, section 4.2, with its line end. */
const longestLine = 255;

/** The identification of a client, and the bytes after it; undefined until its line has arrived. */
export function readVersion(bytes: Buffer): { readonly version: string; readonly rest: Buffer } | undefined {
  const end = bytes.indexOf(0x0a);
  if (end < 0 && bytes.length < longestLine) return undefined;
  const line = end < 0 || end >= longestLine ? undefined : bytes.toString('latin1', 0, end).replace(/\r$/, '');
  if (line === undefined || !/^SSH-2\.0-[\x20-\x7e]+$/.test(line))
    throw new SshError('versionNotSupported', 'expected an SSH client of version 2.0');
  return { version: line, rest: bytes.subarray(end + 1) };
}
