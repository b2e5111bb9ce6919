import { type AppInstance, allocationKind, appInstanceKind, appMemberKind, appOperationKind } from '@capstan/api';
import { Link, useParams } from '@tanstack/react-router';
import { LinkedTabs } from '../../components/linked-tabs.tsx';
import { Page } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useAccessEach } from '../../modules/access/use-can.ts';
import { InstanceActions } from '../../modules/apps/instance-actions.tsx';
import { stateOf } from '../../modules/apps/state.ts';
import { useMembers } from '../../modules/apps/use-parts.ts';
import { EventList } from '../../modules/events/event-list.tsx';
import { YamlLink } from '../../modules/explorer/yaml-link.tsx';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { InstanceAccess } from './instance-access.tsx';
import { InstanceLogs } from './instance-logs.tsx';
import { InstanceMembers } from './instance-members.tsx';
import { InstanceOperations } from './instance-operations.tsx';
import { InstanceOverview } from './instance-overview.tsx';

export function InstanceDetail() {
  const { workspace = '', namespace = '', name = '' } = useParams({ strict: false });
  const found = useLiveObject(appInstanceKind, { workspace, namespace, name });
  const instance = found.state === 'content' ? found.content : undefined;
  return (
    <Page
      title={name}
      above={
        <Link to="/w/$workspace/apps" params={{ workspace }}>
          Apps
        </Link>
      }
      beside={instance !== undefined && <Status {...stateOf(instance)} />}
      actions={
        instance !== undefined && (
          <>
            <YamlLink workspace={workspace} namespace={namespace} name={name} kind={appInstanceKind} />
            <InstanceActions key={instance.metadata.uid} workspace={workspace} instance={instance} />
          </>
        )
      }
    >
      <FollowedView of={found} what="apps">
        {(content) =>
          content === undefined ? (
            <Empty icon="app" title={`There is no app instance ${name}`}>
              It was removed, or never existed in the namespace {namespace} of {workspace}.
            </Empty>
          ) : (
            <InstanceTabs workspace={workspace} instance={content} />
          )
        }
      </FollowedView>
    </Page>
  );
}

function InstanceTabs(props: { readonly workspace: string; readonly instance: AppInstance }) {
  const { namespace = '' } = props.instance.metadata;
  const [access] = useAccessEach([{ workspace: props.workspace, namespace, verb: 'get', kind: appOperationKind, subresource: 'log' }]);
  // The tab in the address may be one that only some may see.
  if (access === 'unknown') return <Loading />;
  const canRead = access === 'allowed';
  const tabs = [
    { isOffered: true, id: 'overview', label: 'Overview', content: () => <InstanceOverview {...props} /> },
    { isOffered: true, id: 'members', label: 'Members', content: () => <InstanceMembers {...props} /> },
    { isOffered: true, id: 'operations', label: 'Operations', content: () => <InstanceOperations {...props} canReadOutput={canRead} /> },
    { isOffered: canRead, id: 'logs', label: 'Logs', content: () => <InstanceLogs {...props} /> },
    { isOffered: true, id: 'access', label: 'Access', content: () => <InstanceAccess {...props} /> },
    { isOffered: true, id: 'events', label: 'Events', content: () => <InstanceEvents {...props} /> },
  ];
  return <LinkedTabs tabs={tabs.filter(({ isOffered }) => isOffered)} />;
}

/** The events of the instance, of its members, and of the allocations that they are on. */
function InstanceEvents(props: { readonly workspace: string; readonly instance: AppInstance }) {
  const { name = '', namespace = '' } = props.instance.metadata;
  const members = useMembers(props);
  const parts = (members.state === 'content' ? members.content : []).flatMap(({ metadata, spec }) => [
    { kind: appMemberKind.kind, name: metadata.name! },
    { kind: allocationKind.kind, name: spec.allocation },
  ]);
  return <EventList workspace={props.workspace} namespace={namespace} objects={[{ kind: appInstanceKind.kind, name }, ...parts]} />;
}
