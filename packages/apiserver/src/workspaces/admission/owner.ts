import type { User } from '@capstan/api';

/** Who created a workspace, in the form in which kcp writes it. */
export function ownerText({ name, uid, groups, extra }: User): string {
  return JSON.stringify({
    username: name,
    ...(uid !== undefined && uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra !== undefined && Object.keys(extra).length > 0 && { extra }),
  });
}
