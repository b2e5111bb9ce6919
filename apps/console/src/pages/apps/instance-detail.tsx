import { type AppInstance, appInstanceKind } from '@capstan/api';
import { Link, useParams } from '@tanstack/react-router';
import { LinkedTabs } from '../../components/linked-tabs.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { InstanceActions } from '../../modules/apps/instance-actions.tsx';
import { stateOf } from '../../modules/apps/state.ts';
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
  const { workspace, instance } = props;
  const { name = '', namespace = '' } = instance.metadata;
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
          content: () => <EventList workspace={workspace} namespace={namespace} kind={appInstanceKind.kind} name={name} />,
        },
      ]}
    />
  );
}
