import {
  bindingFor,
  changeRole,
  clusterRoleBindingKind,
  type Member,
  memberRoles,
  membersOf,
  removeMember,
  subjectOf,
} from '@capstan/client/browser';
import { Button, Select, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { kubeClient } from '../../modules/kube/client.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { useAction } from '../../modules/toasts/use-action.ts';

const roles = memberRoles.map(({ name, may }) => ({ value: name, label: `${name}: ${may}` }));
const bindingsIn = (workspace: string) => kubeClient(workspace).resource(clusterRoleBindingKind);

export function Members({ workspace }: { readonly workspace: string }) {
  const bindings = useLive(clusterRoleBindingKind, { workspace });
  const [canAdd = false, canDelete = false, canUpdate = false] = useCanEach(
    ['create', 'delete', 'update'].map((verb) => ({ workspace, verb, kind: clusterRoleBindingKind })),
  );
  // To leave a binding is to update it, or to delete it after its last member.
  const canRemove = canDelete && canUpdate;
  const canChange = canAdd && canRemove;
  const [isAdding, setAdding] = useState(false);
  const [changed, setChanged] = useState<Member>();
  const [leaving, setLeaving] = useState<Member>();
  const members = useMemo(() => (bindings.state === 'content' ? membersOf(bindings.content) : []), [bindings]);
  const remove = useAction((member: Member) => removeMember(bindingsIn(workspace), member), {
    done: ({ name, role }) => `${name} is no longer ${role}`,
  });
  const columns = useMemo(
    (): readonly Column<Member>[] => [
      { id: 'name', header: 'Name', value: ({ name }) => name },
      { id: 'kind', header: 'Kind', value: ({ kind }) => kind, wideOnly: true },
      { id: 'role', header: 'Role', value: ({ role }) => role },
      { id: 'binding', header: 'Binding', value: ({ binding }) => binding, grow: true, wideOnly: true },
      ...(canRemove
        ? [
            {
              id: 'actions',
              header: '',
              value: () => undefined,
              cell: (member: Member) => (
                <div className={form['rowButtons']}>
                  {canChange && (
                    <Button variant="default" size="compact-xs" onClick={() => setChanged(member)}>
                      Change
                    </Button>
                  )}
                  <Button variant="default" size="compact-xs" onClick={() => setLeaving(member)}>
                    Remove
                  </Button>
                </div>
              ),
              align: 'end' as const,
            },
          ]
        : []),
    ],
    [canRemove, canChange],
  );
  const add = canAdd && (
    <Button leftSection={<Icon name="plus" size={13} />} onClick={() => setAdding(true)}>
      Add a member
    </Button>
  );
  return (
    <Section title="Roles in this workspace" count={members.length} actions={add}>
      <FollowedView of={bindings} what="members">
        {() =>
          members.length === 0 ? (
            <Empty icon="tenancy" title="Nobody has a role here">
              Owners of the platform can enter all the same. Add the first member.
            </Empty>
          ) : (
            <DataTable label="Members" columns={columns} rows={members} idOf={({ id }) => id} />
          )
        }
      </FollowedView>
      {isAdding && <AddMember workspace={workspace} onClose={() => setAdding(false)} />}
      {changed !== undefined && <ChangeRole workspace={workspace} member={changed} onClose={() => setChanged(undefined)} />}
      {leaving !== undefined && (
        <Confirm
          title={`Remove ${leaving.name}?`}
          action="Remove"
          onConfirm={() => remove.mutate(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          They lose the role {leaving.role} in {workspace} at once.
        </Confirm>
      )}
    </Section>
  );
}

function AddMember({ workspace, onClose }: { readonly workspace: string; readonly onClose: () => void }) {
  const [kind, setKind] = useState<'User' | 'Group'>('User');
  const [name, setName] = useState('');
  const [role, setRole] = useState<string>('user');
  const add = useAction(() => bindingsIn(workspace).create(bindingFor(subjectOf(kind, name.trim()), role)), {
    done: `${name} is ${role} now`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title="Add a member"
      action="Add"
      isDisabled={name.trim() === ''}
      isPending={add.isPending}
      onSubmit={() => add.mutate()}
      onClose={onClose}
    >
      <Select
        label="Kind"
        data={['User', 'Group']}
        value={kind}
        allowDeselect={false}
        onChange={(chosen) => setKind(chosen as typeof kind)}
      />
      <TextInput
        label="Name"
        description="As the API server knows it. “capstan whoami” prints yours."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <Select label="Role" data={roles} value={role} allowDeselect={false} onChange={(chosen) => setRole(chosen ?? role)} />
    </FormDialog>
  );
}

interface ChangeRoleProps {
  readonly workspace: string;
  readonly member: Member;
  readonly onClose: () => void;
}

function ChangeRole({ workspace, member, onClose }: ChangeRoleProps) {
  const [role, setRole] = useState(member.role);
  const change = useAction(() => changeRole(bindingsIn(workspace), member, role), {
    done: `${member.name} is ${role} now`,
    onDone: onClose,
  });
  // A role of the workspace's own can be taken away here, and given with kubectl.
  const isOwn = !memberRoles.some(({ name }) => name === member.role);
  return (
    <FormDialog
      title={`Change the role of ${member.name}`}
      action="Change"
      isDisabled={role === member.role}
      isPending={change.isPending}
      onSubmit={() => change.mutate()}
      onClose={onClose}
    >
      <Select
        label="Role"
        description={`In ${workspace}, at once.`}
        data={[...(isOwn ? [member.role] : []), ...roles]}
        value={role}
        allowDeselect={false}
        onChange={(chosen) => setRole(chosen ?? role)}
        data-autofocus
      />
    </FormDialog>
  );
}
