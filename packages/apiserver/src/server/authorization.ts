import { superuserGroup } from '@capstan/api';
import { Trouble } from '@capstan/machinery';
import type { Attributes, Authorizer, Decision, Gate } from '../authz/attributes.ts';
import type { RuleResolver } from '../authz/authorizer.ts';
import type { AuthorizerSetting } from '../authz/configuration.ts';
import { allowGroups, allowPaths, inOrder, type Step, stepOf } from '../authz/order.ts';
import { webhookAuthorizer } from '../authz/webhook/authorizer.ts';
import { Poster } from '../authz/webhook/client.ts';

export interface AuthorizationOptions {
  /** Who is asked, in this order: groups, paths, nodes and roles when absent. */
  readonly order?: readonly AuthorizerSetting[];
  /** Those who may do anything, where the order names AlwaysAllowGroups. */
  readonly alwaysAllowGroups?: readonly string[];
  /** The paths that everybody may see, where the order names AlwaysAllowPaths. */
  readonly alwaysAllowPaths?: readonly string[];
}

const usualOrder: readonly AuthorizerSetting[] = [
  { type: 'AlwaysAllowGroups' },
  { type: 'AlwaysAllowPaths' },
  { type: 'Node' },
  { type: 'RBAC' },
];
const healthPaths = ['/healthz', '/readyz', '/livez'];

export interface OwnAuthorizers {
  readonly nodes: Authorizer;
  readonly roles: Authorizer & RuleResolver;
}

/** Who decides on this server: the rights of nodes, then roles, or those whom the operator wants asked, in the order that they want. */
export function authorization(
  { nodes, roles }: OwnAuthorizers,
  options: AuthorizationOptions | undefined,
  { resources, log }: { resources: AsyncDisposableStack; log: (line: string) => void },
): Gate & RuleResolver {
  const rulesFor: RuleResolver['rulesFor'] = (user, place) => roles.rulesFor(user, place);
  const explain = (attributes: Attributes): Readonly<Record<string, Decision>> => roles.explain?.(attributes) ?? {};
  if (options === undefined) return { authorize: (attributes) => nodesThenRoles({ nodes, roles }, attributes), explain, rulesFor };
  const { order = usualOrder, alwaysAllowGroups = [superuserGroup], alwaysAllowPaths = healthPaths } = options;
  const steps = order.map((setting): Step => {
    if (setting.type === 'Node') return stepOf(nodes);
    if (setting.type === 'RBAC') return stepOf(roles);
    if (setting.type === 'AlwaysAllowGroups') return allowGroups(alwaysAllowGroups);
    if (setting.type === 'AlwaysAllowPaths') return allowPaths(alwaysAllowPaths);
    const poster = resources.use(new Poster(setting));
    return webhookAuthorizer({ ...setting, post: (body) => poster.post(body), onFailure: onceInAWhile(log) });
  });
  const gate = inOrder(steps);
  return { authorize: (attributes) => gate.authorize(attributes), explain, rulesFor };
}

/** The same as `inOrder`, without its cost: every request passes through here. */
function nodesThenRoles({ nodes, roles }: OwnAuthorizers, attributes: Attributes): Decision {
  const decision = nodes.authorize(attributes);
  if (decision.allowed) return decision;
  const byRole = roles.authorize(attributes);
  if (byRole.allowed || decision.reason === '') return byRole;
  return { ...byRole, reason: byRole.reason === '' ? decision.reason : `${decision.reason}\n${byRole.reason}` };
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
