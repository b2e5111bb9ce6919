import { Failure } from '../failure.ts';

/** Resolves a path from a workspace: `..` is its parent, a name its child; `:root:x` and `root:x` are absolute. */
export function pathFrom(current: string, target: string): string {
  if (!/^:?(?:\.\.?|[a-z0-9][a-z0-9-]*)(?::(?:\.\.?|[a-z0-9][a-z0-9-]*))*$/.test(target))
    throw new Failure(
      'usage',
      `"${target}" is not a workspace path. Expected names separated by colons, such as root:main:default, or "..".`,
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
