import type { ClusterId, User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { RequestContext } from '../registry/context.ts';
import { parseRequest } from '../request/info.ts';

/** The user for actions that the server takes on its own behalf, not for a client. */
export const serverUser: User = { name: 'system:apiserver', groups: [superuserGroup] };

/** The context for the server's own actions in a workspace. */
export function serverContext({
  cluster,
  objects,
  now,
  userAgent = 'kube-apiserver',
}: {
  readonly cluster: ClusterId;
  readonly objects: RequestContext['objects'];
  readonly now: () => Date;
  readonly userAgent?: string;
}): RequestContext {
  return new RequestContext({ info: { ...parseRequest('POST', '/'), cluster }, user: serverUser, objects, now, userAgent });
}
