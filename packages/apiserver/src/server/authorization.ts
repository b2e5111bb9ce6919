import { superuserGroup } from '@capstan/api';
import { Trouble } from '@capstan/machinery';
import type { Authorizer, Gate } from '../authz/attributes.ts';
import type { RuleResolver } from '../authz/authorizer.ts';
import type { AuthorizerSetting } from '../authz/configuration.ts';
import { allowGroups, allowPaths, inOrder, type Step, stepOf } from '../authz/order.ts';
import { webhookAuthorizer } from '../authz/webhook/authorizer.ts';
import { Poster } from '../authz/webhook/client.ts';

export interface AuthorizationOptions {
  /** Who is asked, in this order: groups, paths and roles when absent. */
  readonly order?: readonly AuthorizerSetting[];
  /** Those who may do anything, where the order names AlwaysAllowGroups. */
  readonly alwaysAllowGroups?: readonly string[];
  /** What everybody may see, where the order names AlwaysAllowPaths. */
  readonly alwaysAllowPaths?: readonly string[];
}

const usualOrder: readonly AuthorizerSetting[] = [{ type: 'AlwaysAllowGroups' }, { type: 'AlwaysAllowPaths' }, { type: 'RBAC' }];
const healthPaths = ['/healthz', '/readyz', '/livez'];

/** Who decides on this server: roles alone, or those whom the operator wants asked, in the order that they want. */
export function authorization(
  roles: Authorizer & RuleResolver,
  options: AuthorizationOptions | undefined,
  { resources, log }: { resources: AsyncDisposableStack; log: (line: string) => void },
): Gate & RuleResolver {
  if (options === undefined) return roles;
  const { order = usualOrder, alwaysAllowGroups = [superuserGroup], alwaysAllowPaths = healthPaths } = options;
  const steps = order.map((setting): Step => {
    if (setting.type === 'RBAC') return stepOf(roles);
    if (setting.type === 'AlwaysAllowGroups') return allowGroups(alwaysAllowGroups);
    if (setting.type === 'AlwaysAllowPaths') return allowPaths(alwaysAllowPaths);
    const poster = resources.use(new Poster(setting));
    return webhookAuthorizer({ ...setting, post: (body) => poster.post(body), onFailure: onceInAWhile(log) });
  });
  const gate = inOrder(steps);
  return {
    authorize: (attributes) => gate.authorize(attributes),
    explain: (attributes) => roles.explain?.(attributes) ?? {},
    rulesFor: (user, place) => roles.rulesFor(user, place),
  };
}

/** Says at first why a webhook fails, then how often it did. */
function onceInAWhile(log: (line: string) => void): (message: string) => void {
  const trouble = new Trouble({
    log,
    now: () => performance.now(),
    begins: (message) => message,
    lasts: (message, { reports }) => `${message} (and ${reports - 1} times before)`,
    ends: () => undefined,
  });
  return (message) => trouble.report(message);
}
