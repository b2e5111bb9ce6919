import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { RequestContext } from '../registry/context.ts';
import { parseRequest } from '../request/info.ts';

/** Who the server is where it acts on its own, and not for whoever asked. */
export const serverUser: User = { name: 'system:apiserver', groups: [superuserGroup] };

/** The context of what the server does on its own in a workspace. */
export function serverContext({
  cluster,
  objects,
  now,
  userAgent = 'kube-apiserver',
}: {
  readonly cluster: string;
  readonly objects: RequestContext['objects'];
  readonly now: () => Date;
  readonly userAgent?: string;
}): RequestContext {
  return new RequestContext({ info: { ...parseRequest('POST', '/'), cluster }, user: serverUser, objects, now, userAgent });
}
