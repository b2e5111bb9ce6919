import { type GPUStorage, gpuStorageKind, isSnapshottable, storageSource } from '@capstan/api';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { Meter } from '../../components/meter.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Empty, Loading, Note } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { Conditions } from '../../modules/conditions/conditions.tsx';
import { EventList } from '../../modules/events/event-list.tsx';
import { YamlLink } from '../../modules/explorer/yaml-link.tsx';
import { bytes, dateTime, sentence, sizeWords } from '../../modules/format/format.ts';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { StorageActions } from '../../modules/storages/actions.tsx';
import { stateOf, usedShare } from '../../modules/storages/state.ts';
import { SnapshotList } from './snapshot-list.tsx';

const StorageFiles = lazy(async () => ({ default: (await import('../../modules/storages/storage-files.tsx')).StorageFiles }));

export function StorageDetail() {
  const { workspace = '', namespace = '', name = '' } = useParams({ strict: false });
  const found = useLiveObject(gpuStorageKind, { workspace, namespace, name });
  const storage = found.state === 'content' ? found.content : undefined;
  const navigate = useNavigate();
  const leave = (): void => void navigate({ to: '/w/$workspace/storages', params: { workspace } });
  return (
    <Page
      title={name}
      above={
        <Link to="/w/$workspace/storages" params={{ workspace }}>
          Storage
        </Link>
      }
      beside={storage !== undefined && <Status {...stateOf(storage)} />}
      actions={
        storage !== undefined && (
          <>
            <YamlLink workspace={workspace} namespace={namespace} name={name} kind={gpuStorageKind} />
            <StorageActions key={storage.metadata.uid} workspace={workspace} storage={storage} onDeleted={leave} />
          </>
        )
      }
    >
      <FollowedView of={found} what="storages">
        {(content) =>
          content === undefined ? (
            <Empty icon="storage" title={`There is no storage ${name}`}>
              It was deleted, or never existed in the namespace {namespace} of {workspace}.
            </Empty>
          ) : (
            <StorageFacts workspace={workspace} storage={content} />
          )
        }
      </FollowedView>
    </Page>
  );
}

/** A snapshot says of which storage, and of which moment; a clone, of what. */
function originFacts(workspace: string, { metadata, spec, status }: GPUStorage): readonly (readonly [string, ReactNode])[] {
  const { namespace = '' } = metadata;
  const source = storageSource(spec)?.name;
  if (source === undefined) return [];
  const link = (
    <Link key="source" to="/w/$workspace/storages/$namespace/$name" params={{ workspace, namespace, name: source }}>
      {source}
    </Link>
  );
  if (spec.snapshotOf === undefined) return [['Clone of', link]];
  return [
    ['Snapshot of', link],
    ['Taken', dateTime(status?.takenAt)],
  ];
}

function StorageFacts({ workspace, storage }: { readonly workspace: string; readonly storage: GPUStorage }) {
  const { metadata, spec, status } = storage;
  const { namespace = '', name = '' } = metadata;
  const users = status?.mountedBy ?? [];
  return (
    <>
      <Facts
        facts={[
          ['Size', sizeWords(spec.size)],
          ['Used', status?.usedBytes === undefined ? '–' : <Meter key="used" share={usedShare(storage)} text={bytes(status.usedBytes)} />],
          ['Class', spec.class],
          ['Node', status?.node ?? 'that of the first unit'],
          ...originFacts(workspace, storage),
          ['When deleted', spec.deletionPolicy === 'Retain' ? 'its files stay' : 'its files are deleted'],
          ['Reason', stateOf(storage).tone === 'good' ? undefined : sentence(stateOf(storage).reason)],
          ['Created', dateTime(metadata.creationTimestamp)],
        ]}
      />
      <Section title="Mounted by" count={users.length}>
        {users.length === 0 ? (
          <Note>No unit mounts it now. Choose it under Storages when you create a unit.</Note>
        ) : (
          <ul>
            {users.map((unit) => (
              <li key={unit}>
                <Link to="/w/$workspace/units/$namespace/$name" params={{ workspace, namespace, name: unit }}>
                  {unit}
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Section>
      {isSnapshottable(storage) && <SnapshotList workspace={workspace} storage={storage} />}
      <Section title="Files" note="Through a small unit, which is deleted when you leave the page.">
        <Suspense fallback={<Loading />}>
          <StorageFiles key={metadata.uid} workspace={workspace} storage={storage} />
        </Suspense>
      </Section>
      {(status?.conditions ?? []).length > 0 && (
        <Section title="Conditions">
          <Conditions conditions={status!.conditions!} />
        </Section>
      )}
      <Section title="Events">
        <EventList workspace={workspace} namespace={namespace} objects={[{ kind: gpuStorageKind.kind, name }]} />
      </Section>
    </>
  );
}
