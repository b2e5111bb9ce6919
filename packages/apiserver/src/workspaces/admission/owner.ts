import type { User } from '@capstan/api';

/** The creator of a workspace, in kcp's format. */
export function ownerText({ name, uid, groups, extra }: User): string {
  return JSON.stringify({
    username: name,
    ...(uid !== undefined && uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra !== undefined && Object.keys(extra).length > 0 && { extra }),
  });
}
