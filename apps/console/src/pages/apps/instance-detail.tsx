import { type AppInstance, allocationKind, appInstanceKind, appMemberKind } from '@capstan/api';
import { Link, useParams } from '@tanstack/react-router';
import { LinkedTabs } from '../../components/linked-tabs.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { InstanceActions } from '../../modules/apps/instance-actions.tsx';
import { stateOf } from '../../modules/apps/state.ts';
import { useMembers } from '../../modules/apps/use-parts.ts';
import { EventList } from '../../modules/events/event-list.tsx';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { InstanceAccess } from './instance-access.tsx';
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
      actions={instance !== undefined && <InstanceActions key={instance.metadata.uid} workspace={workspace} instance={instance} />}
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
  return (
    <LinkedTabs
      tabs={[
        { id: 'overview', label: 'Overview', content: () => <InstanceOverview {...props} /> },
        { id: 'members', label: 'Members', content: () => <InstanceMembers {...props} /> },
        { id: 'operations', label: 'Operations', content: () => <InstanceOperations {...props} /> },
        { id: 'access', label: 'Access', content: () => <InstanceAccess {...props} /> },
        {
          id: 'events',
          label: 'Events',
          content: () => <InstanceEvents {...props} />,
        },
      ]}
    />
  );
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
