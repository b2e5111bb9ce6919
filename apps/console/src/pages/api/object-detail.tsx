import type { KindReference } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery/objects';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { textOf } from '../../modules/explorer/document.ts';
import { groupFromPath } from '../../modules/explorer/kinds.ts';
import { ObjectEditor } from '../../modules/explorer/object-editor.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { AskedView } from '../../modules/problems/views.tsx';
import { toast } from '../../modules/toasts/toasts.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

export function ObjectDetail() {
  const parameters = useParams({ strict: false });
  const { workspace = '', version = '', resource = '', name = '' } = parameters;
  const group = groupFromPath(parameters.group ?? '');
  const namespace = parameters.namespace === '-' ? undefined : parameters.namespace;
  const kind: KindReference = { group, version, resource, namespaced: namespace !== undefined, kind: '' };
  const place = { workspace, namespace };
  const objects = kubeClient(workspace).resource<KubeObject>(kind).in(namespace);
  const navigate = useNavigate();
  const [isAsked, setAsked] = useState(false);
  // Read in full once; the live object only says when there is a newer one.
  const object = useQuery({
    queryKey: ['object', workspace, group, version, resource, namespace, name],
    queryFn: () => objects.get(name),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const live = useLiveObject(kind, { ...place, name });
  const current = live.state === 'content' ? live.content?.metadata.resourceVersion : undefined;
  const isOld = object.data !== undefined && current !== undefined && current !== object.data.metadata.resourceVersion;
  const [canUpdate, canDelete] = useCanEach(['update', 'delete'].map((verb) => ({ ...place, verb, kind, name })));
  const list = { workspace, group: parameters.group ?? '', version, resource };
  const leave = (): void => void navigate({ to: '/w/$workspace/api/$group/$version/$resource', params: list });
  const remove = useAction(() => objects.delete(name), { done: `${name} is deleted`, onDone: leave });
  return (
    <Page
      title={name}
      above={
        <>
          <Link to="/w/$workspace/api" params={{ workspace }}>
            API
          </Link>
          {' / '}
          <Link to="/w/$workspace/api/$group/$version/$resource" params={list}>
            {resource}
          </Link>
        </>
      }
      beside={<span>{namespace}</span>}
      actions={
        <>
          {isOld && (
            <>
              <Status tone="warn" word="It has changed on the server" />
              <Button variant="default" leftSection={<Icon name="retry" size={13} />} onClick={() => void object.refetch()}>
                Load
              </Button>
            </>
          )}
          {canDelete && (
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={13} />}
              loading={remove.isPending}
              onClick={() => setAsked(true)}
            >
              Delete
            </Button>
          )}
        </>
      }
    >
      {live.state === 'content' && live.content === undefined && object.data !== undefined ? (
        <Empty icon="api" title={`${name} was deleted`} />
      ) : (
        <AskedView of={object} what={resource}>
          {(content) => (
            <ObjectEditor
              workspace={workspace}
              key={content.metadata.resourceVersion}
              initial={textOf(content)}
              stored={textOf(content)}
              mayWrite={canUpdate === true}
              action="Save"
              write={(edited, dryRun) => objects.update(edited, { dryRun, fieldValidation: 'Strict', fieldManager: 'capstan-console' })}
              onWritten={() => {
                toast('good', `${name} was saved`);
                void object.refetch();
              }}
            />
          )}
        </AskedView>
      )}
      {isAsked && (
        <Confirm title={`Delete ${name}?`} action="Delete" typed={name} onConfirm={() => remove.mutate()} onClose={() => setAsked(false)}>
          This deletes the object of the kind {resource}, and everything that belongs to it.
        </Confirm>
      )}
    </Page>
  );
}
