import { readFile, realpath } from 'node:fs/promises';

export interface Mount {
  /** Where it is. */
  readonly point: string;
  /** Such as `ext4`. */
  readonly type: string;
  /** The device, or a word. */
  readonly source: string;
  /** Options of the file system, such as `prjquota`. */
  readonly options: readonly string[];
}

/** The mounts that this process sees, in the order in which they were made. */
export async function allMounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

export function parseMounts(text: string): Mount[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [first = '', last = ''] = line.split(' - ');
      const [type = '', source = '', options = ''] = last.split(' ');
      return { point: unescaped(first.split(' ')[4] ?? ''), type, source: unescaped(source), options: options.split(',') };
    });
}

/** The mount at a folder; undefined if nothing is mounted there. */
export async function mountAt(folder: string): Promise<Mount | undefined> {
  const point = await realpath(folder).catch(() => undefined);
  return point === undefined ? undefined : (await allMounts()).findLast((mount) => mount.point === point);
}

/** The mount that has a folder. */
export async function mountOf(folder: string): Promise<Mount | undefined> {
  return mountAbove(await realpath(folder), await allMounts());
}

export function mountAbove(path: string, mounts: readonly Mount[]): Mount | undefined {
  const above = mounts.filter(({ point }) => point === '/' || path === point || path.startsWith(`${point}/`));
  const longest = Math.max(...above.map(({ point }) => point.length));
  return above.findLast(({ point }) => point.length === longest);
}

/** Blanks and such are octal numbers in mountinfo. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
