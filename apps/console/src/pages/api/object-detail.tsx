import type { KindReference } from '@capstan/api';
import { isNotFound } from '@capstan/client/browser';
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
import { groupFromPath, kindsQuery, servedKind } from '../../modules/explorer/kinds.ts';
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
  const [asked, setAsked] = useState<'delete' | 'load'>();
  const [isEdited, setEdited] = useState(false);
  const kinds = useQuery(kindsQuery(workspace));
  const verbs = servedKind(kinds.data, kind)?.verbs ?? [];
  // Read in full once; the live object only says when there is a newer one.
  const object = useQuery({
    queryKey: ['object', workspace, group, version, resource, namespace, name],
    queryFn: () => objects.get(name),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const live = useLiveObject(kind, { ...place, name });
  const current = live.state === 'content' ? live.content?.metadata.resourceVersion : undefined;
  const isOld = object.data !== undefined && current !== undefined && current !== object.data.metadata.resourceVersion;
  // Rights may name verbs that the kind does not have.
  const [canUpdate, canDelete] = useCanEach(['update', 'delete'].map((verb) => ({ ...place, verb, kind, name }))).map(
    (isAllowed, index) => isAllowed && verbs.includes(['update', 'delete'][index]!),
  );
  const isGone = live.state === 'content' && live.content === undefined && object.data !== undefined;
  const list = { workspace, group: parameters.group ?? '', version, resource };
  const leave = (): void => void navigate({ to: '/w/$workspace/api/$group/$version/$resource', params: list });
  const remove = useAction(() => objects.delete(name), { done: `${name} is deleted`, onDone: leave });
  const load = (): void => {
    setEdited(false);
    void object.refetch();
  };
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
              <Button
                variant="default"
                leftSection={<Icon name="retry" size={13} />}
                onClick={() => (isEdited ? setAsked('load') : load())}
              >
                Load
              </Button>
            </>
          )}
          {canDelete && (
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={13} />}
              loading={remove.isPending}
              onClick={() => setAsked('delete')}
            >
              Delete
            </Button>
          )}
        </>
      }
    >
      {isGone || isNotFound(object.error) ? (
        <Empty icon="api" title={isGone ? `${name} was deleted` : `There is no object ${name} of the kind ${resource}`}>
          <Link to="/w/$workspace/api/$group/$version/$resource" params={list}>
            See all {resource}
          </Link>
          {' that there are, or create one from YAML.'}
        </Empty>
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
                load();
              }}
              onEdited={setEdited}
            />
          )}
        </AskedView>
      )}
      {asked === 'load' && (
        <Confirm title="Load the object of the server?" action="Load" onConfirm={load} onClose={() => setAsked(undefined)}>
          Your changes to the text are lost. Copy what you need before.
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          typed={name}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsked(undefined)}
        >
          This deletes the object of the kind {resource}, and everything that belongs to it.
        </Confirm>
      )}
    </Page>
  );
}
