/** Divides items into groups in which every pair is connected, and counts the weakest connection. Items without a connection are in no group. */
export function connectedGroups(count: number, linksBetween: (from: number, to: number) => number): { members: number[]; links: number }[] {
  const groups: number[][] = [];
  for (let item = 0; item < count; item++) {
    const home = groups.find((group) => group.every((member) => linksBetween(item, member) > 0));
    if (home === undefined) groups.push([item]);
    else home.push(item);
  }
  return groups
    .filter(({ length }) => length > 1)
    .map((members) => ({
      members,
      links: Math.min(...members.flatMap((from) => members.filter((to) => to !== from).map((to) => linksBetween(from, to)))),
    }));
}
