import { rootCluster, type Workspace, workspaceKind } from '@capstan/api';
import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

const types = [
  { value: 'project', label: 'Project: units, storages and apps' },
  { value: 'team', label: 'Team: projects of a part of the organization' },
  { value: 'organization', label: 'Organization: a tenant, with members and limits' },
  { value: 'universal', label: 'Universal: anything, without products' },
];

export function NewWorkspace({ workspace, onClose }: { readonly workspace: string; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [type, setType] = useState(workspace === rootCluster ? 'organization' : 'project');
  const create = useAction(
    () => {
      const object: Workspace = {
        apiVersion: `${workspaceKind.group}/${workspaceKind.version}`,
        kind: workspaceKind.kind,
        metadata: { name },
        spec: { type: { name: type, path: rootCluster } },
      };
      return kubeClient(workspace).resource<Workspace>(workspaceKind).create(object);
    },
    { done: `${name} was created`, onDone: onClose },
  );
  return (
    <FormDialog
      title={`New workspace in ${workspace}`}
      action="Create"
      isDisabled={!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)}
      isPending={create.isPending}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextInput label="Name" placeholder="vision" value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
      <Select label="Type" data={types} value={type} allowDeselect={false} onChange={(chosen) => setType(chosen ?? type)} />
    </FormDialog>
  );
}
