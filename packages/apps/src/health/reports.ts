import type { AppMember, AppMemberStatus } from '@capstan/api';
import type { Scene } from '../instances/scene.ts';

interface Reportable {
  readonly reported?: { readonly expiresAt: string };
}

/** A status without a report that has expired. The same one if it has none. */
export function withoutExpired<T extends Reportable>(status: T, now: number): T {
  if (status.reported === undefined || Date.parse(status.reported.expiresAt) > now) return status;
  const { reported: _, ...rest } = status;
  return rest as T;
}

/** Members whose reports have expired, with their status without them. */
export function expiredMembers({ members, now }: Scene): { readonly member: AppMember; readonly status: AppMemberStatus }[] {
  return members.flatMap((member) => {
    const { status = {} } = member;
    const fresh = withoutExpired(status, now);
    return fresh === status ? [] : [{ member, status: fresh }];
  });
}

/** In milliseconds: when the next report expires. Undefined if there are none. */
export function nextExpiry({ instance, members, now }: Scene): number | undefined {
  const times = [instance, ...members].flatMap(({ status }) =>
    status?.reported === undefined ? [] : Date.parse(status.reported.expiresAt),
  );
  return times.length === 0 ? undefined : Math.max(250, Math.min(...times) - now);
}
