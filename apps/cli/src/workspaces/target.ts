import { Failure } from '../failure.ts';

/** Where a path leads from a workspace: `..` is the one above, a name the one below, `:root:x` and `root:x` are counted from the top. */
export function pathFrom(current: string, target: string): string {
  if (!/^:?(?:\.\.?|[a-z0-9][a-z0-9-]*)(?::(?:\.\.?|[a-z0-9][a-z0-9-]*))*$/.test(target))
    throw new Failure(
      'usage',
      `"${target}" is no path of workspaces. Expected names with colons between them, such as root:main:default, or "..".`,
    );
  if (target.startsWith(':')) return target.slice(1);
  if (target === 'root' || target.startsWith('root:')) return target;
  const names = current.split(':');
  for (const name of target.split(':')) {
    if (name === '..') {
      if (names.length > 1) names.pop();
    } else if (name !== '.' && name !== '') names.push(name);
  }
  return names.join(':');
}
