import { type AppMember, accessShellPath, appMemberKind, appsGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import { serveCommand } from '../connect/command.ts';
import type { OwnSubresource } from '../connect/own-subresource.ts';
import type { Reach } from '../connect/target.ts';
import type { AppObjects } from './members.ts';

/** `appmembers/exec`: a shell on the member that an instance names for that, as the Unix account of the user. */
export function memberShell(objects: AppObjects, { kubelets, tunnels }: Reach): OwnSubresource {
  return {
    group: appsGroup,
    resource: appMemberKind.resource,
    subresource: 'exec',
    isPowerful: true,
    async serve({ stream, context, object, resource }) {
      const { name, namespace } = context.info;
      if (!objects.isOfPlatform(resource)) throw status.notFound(resource, name);
      const member = object as AppMember;
      const instance = objects.instance({ cluster: context.cluster, namespace, name: member.spec.instance });
      if (instance?.status?.access?.shell !== name)
        throw status.forbidden(resource, name, `the instance ${member.spec.instance} gives no shells on this member`);
      if (!objects.isBooked(member, context.cluster))
        throw status.forbidden(resource, name, `the Allocation ${member.spec.allocation} does not have the node of this member to itself`);
      const { node } = member.spec;
      const connection = await tunnels.to(node);
      if (connection === undefined) throw status.serviceUnavailable(`the node ${node} of member ${name} is not connected`);
      const path = `/node${accessShellPath(instance.metadata.uid ?? '')}`;
      await serveCommand(kubelets, { stream, context, pod: object, container: '', target: { kind: 'tunnel', node, connection }, path });
    },
  };
}
