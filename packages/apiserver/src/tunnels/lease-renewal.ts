import { nodeNamespace, platformWorkspace } from '@capstan/api';
import { formatMicroTime, type KubeObject } from '@capstan/machinery';
import type { Heartbeat } from '@capstan/streams';
import type { AuditLog } from '../audit/log.ts';
import type { Authenticator } from '../authn/user.ts';
import type { Gate } from '../authz/attributes.ts';
import type { Serving } from '../handlers/serving.ts';
import { agentOfRaw } from '../node-agents/agent-certificate.ts';
import { attributesOf } from '../registry/attributes.ts';
import { catalogFor } from '../registry/catalogs.ts';
import { RequestContext } from '../registry/context.ts';
import { update } from '../registry/update.ts';
import { parseRequest } from '../request/info.ts';
import type { Scopes } from '../workspaces/scopes.ts';

export interface LeaseRenewalOptions {
  readonly serving: Serving;
  readonly scopes: Pick<Scopes, 'enter'>;
  readonly authenticator: Authenticator;
  readonly authorizer: Gate;
  readonly audit: Pick<AuditLog, 'recordingOf'>;
  readonly now: () => Date;
}

/** The manager of the fields, as in requests of agents. */
const manager = 'capstan-node-agent';

/** Renews the Lease of the node that this certificate, in DER, was issued to. Resolves with its version, or with undefined if an ordinary request has to do it. */
export type RenewLease = (certificate: Buffer, heartbeat: Heartbeat) => Promise<string | undefined>;

/**
 * The renewal of a Lease as if its agent had sent a request for it: with the same authentication, authorization, admission, checks and durability. Whatever is not
 * the ordinary case is left to a request, which also says why: refusals, conflicts, Leases that do not exist, and renewals that the audit log records.
 */
export function leaseRenewal({ serving, scopes, authenticator, authorizer, audit, now }: LeaseRenewalOptions): RenewLease {
  return async (certificate, heartbeat) => {
    const node = agentOfRaw(certificate)?.node;
    const user = await authenticator.authenticate({ certificate: () => certificate });
    if (node === undefined || user === undefined) return undefined;
    const namespace = nodeNamespace(node);
    const path = `/clusters/${platformWorkspace}/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${node}`;
    const info = scopes.enter(parseRequest('PATCH', path), user);
    const attributes = attributesOf(info, user);
    if (info.scope?.isInactive === true || audit.recordingOf(attributes) !== undefined) return undefined;
    const decision = await (info.scope?.authorizer ?? authorizer).authorize(attributes);
    const resource = catalogFor(serving, info).resource(info.group, info.version, info.resource);
    if (!decision.allowed || resource === undefined) return undefined;
    const context = new RequestContext({
      info,
      user: info.scope?.insideAs?.(user) ?? user,
      objects: serving.cache,
      now,
      userAgent: manager,
    });
    const target = { resource, namespace, name: node, subresource: '' };
    const { entry } = await update(serving, context, {
      ...target,
      manager,
      dryRun: false,
      change: (old) => ({ object: renewed(old, heartbeat) }),
    });
    return String(entry.revision);
  };
}

function renewed(lease: KubeObject, { resourceVersion, holder, seconds, at }: Heartbeat): KubeObject {
  const spec = {
    ...(lease['spec'] as object | undefined),
    holderIdentity: holder,
    leaseDurationSeconds: seconds,
    renewTime: formatMicroTime(new Date(at)),
  };
  return { ...lease, metadata: { ...lease.metadata, resourceVersion }, spec };
}
