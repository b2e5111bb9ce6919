import { gpuNodeKind, platformWorkspace } from '@capstan/api';
import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Command } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { Status } from '../../components/status.tsx';
import { enroll } from '../../modules/fleet/enrollment.ts';
import { stateOf } from '../../modules/fleet/node-state.ts';
import { useLiveObject } from '../../modules/live/use-live.ts';

const minutes = 30;
const namePattern = /^[a-z0-9]([-a-z0-9]{0,56}[a-z0-9])?$/;

export function EnrollDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const invite = useMutation({ mutationFn: () => enroll(name, minutes) });
  return (
    <Dialog title="Add a machine to the fleet" size="xl" isKept onClose={onClose}>
      {invite.data === undefined ? (
        <form
          className={form['group']}
          onSubmit={(event) => {
            event.preventDefault();
            invite.mutate();
          }}
        >
          <TextInput
            label="Name of the node"
            description="At most 58 lower-case letters, digits and hyphens."
            placeholder="gpu-1"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          {invite.error !== null && (
            <p className={form['fault']} role="alert">
              {invite.error.message}
            </p>
          )}
          <Button type="submit" size="sm" disabled={!namePattern.test(name)} loading={invite.isPending}>
            Create the join command
          </Button>
        </form>
      ) : (
        <div className={form['group']}>
          <p className={form['hint']}>
            Paste this into a shell of the machine, as root. It needs Linux with glibc 2.28 or newer and curl. The command works once, for{' '}
            {minutes} minutes, and is not shown again.
          </p>
          <Command text={invite.data} />
          <Joined name={name} />
        </div>
      )}
    </Dialog>
  );
}

function Joined({ name }: { readonly name: string }) {
  const node = useLiveObject(gpuNodeKind, { workspace: platformWorkspace, name });
  const found = node.state === 'content' ? node.content : undefined;
  return (
    <p role="status">
      {found?.status?.identity === undefined ? (
        <Status tone="busy" word={`Waiting until ${name} joins`} />
      ) : (
        <Status tone={stateOf(found).tone} word={`${name} has joined: ${stateOf(found).word}`} />
      )}
    </p>
  );
}
