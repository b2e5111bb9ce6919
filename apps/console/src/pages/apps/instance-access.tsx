import { type AppInstance, appMemberKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { Command } from '../../components/copy.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { memberShellPath } from '../../modules/terminal/paths.ts';
import styles from './instance.module.css';

const Terminal = lazy(async () => ({ default: (await import('../../modules/terminal/terminal.tsx')).Terminal }));
const KubeconfigView = lazy(async () => ({ default: (await import('./kubeconfig-view.tsx')).KubeconfigView }));

interface AccessProps {
  readonly workspace: string;
  readonly instance: AppInstance;
}

/** How people use the instance. */
export function InstanceAccess({ workspace, instance }: AccessProps) {
  const { name = '', namespace = '' } = instance.metadata;
  const { endpoints = [], notes = [], kubeconfig = false, shell } = instance.status?.access ?? {};
  if (endpoints.length === 0 && notes.length === 0 && !kubeconfig && shell === undefined)
    return (
      <Empty icon="app" title="It cannot be used yet">
        Addresses, kubeconfigs and shells appear here when it is deployed.
      </Empty>
    );
  return (
    <div className={styles['stack']}>
      {endpoints.length > 0 && (
        <Section title="Addresses" note="In the network of the nodes.">
          <div className={styles['stack']}>
            {endpoints.map((endpoint) => (
              <div key={endpoint.name}>
                <span className={styles['soft']}>{endpoint.name}</span>
                <Command text={endpoint.address} label="Copy the address" />
              </div>
            ))}
          </div>
        </Section>
      )}
      {kubeconfig && (
        <Section title="Kubeconfig" note="Requests go through the platform, as you.">
          <Suspense fallback={<Loading />}>
            <KubeconfigView workspace={workspace} namespace={namespace} name={name} />
          </Suspense>
        </Section>
      )}
      {shell !== undefined && <Shell workspace={workspace} namespace={namespace} name={name} member={shell} />}
      {notes.length > 0 && (
        <Section title="Notes">
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Section>
      )}
    </div>
  );
}

interface ShellProps {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
  readonly member: string;
}

function Shell({ workspace, namespace, name, member }: ShellProps) {
  const [isOpen, setOpen] = useState(false);
  const [canCreate, canGet] = useCanEach(
    ['create', 'get'].map((verb) => ({ workspace, namespace, verb, kind: appMemberKind, subresource: 'exec', name: member })),
  );
  if (!canCreate || !canGet) return null;
  return (
    <Section title="Shell" note={`On ${member}, as your account there.`}>
      <div className={styles['stack']}>
        <Command text={`capstan app shell ${name} --namespace ${namespace}`} />
        {isOpen ? (
          <Suspense fallback={<Loading what="Loading the terminal" />}>
            <Terminal path={memberShellPath({ workspace, namespace, member })} />
          </Suspense>
        ) : (
          <div>
            <Button variant="default" leftSection={<Icon name="terminal" size={13} />} onClick={() => setOpen(true)}>
              Open a shell here
            </Button>
          </div>
        )}
      </div>
    </Section>
  );
}
