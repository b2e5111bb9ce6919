import { type Workspace, workspaceKind } from '@capstan/api';
import { Popover, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { kubeClient } from '../kube/client.ts';
import { usePerson } from '../session/person.ts';
import { ancestorsOf, nameOf, parentOf } from './path.ts';
import { recentWorkspaces } from './recent.ts';
import styles from './switcher.module.css';
import { useWorkspace } from './use-workspace.ts';

/** The child workspaces of a workspace; none if the person may not list them. */
export function useChildren(workspace: string | undefined): readonly string[] {
  const { data } = useQuery({
    queryKey: ['children', workspace],
    queryFn: async () => {
      const { items } = await kubeClient(workspace!).resource<Workspace>(workspaceKind).list();
      return items.map(({ metadata }) => `${workspace}:${metadata.name}`).sort();
    },
    enabled: workspace !== undefined,
    retry: false,
    // Somebody may have created one since.
    staleTime: 0,
  });
  return data ?? [];
}

export function WorkspaceSwitcher() {
  const workspace = useWorkspace();
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" width={300} trapFocus transitionProps={{ duration: 80 }}>
      <Popover.Target>
        <button type="button" className={styles['current']} onClick={() => setOpen(!isOpen)}>
          <span className={styles['names']}>
            <span className="visually-hidden">Switch the workspace. Now </span>
            <span className={styles['name']}>{nameOf(workspace)}</span>
            <span className={styles['path']}>{parentOf(workspace) ?? 'the top of the tree'}</span>
          </span>
          <Icon name="switch" size={14} />
        </button>
      </Popover.Target>
      <Popover.Dropdown p={6}>{isOpen && <Choices workspace={workspace} onDone={() => setOpen(false)} />}</Popover.Dropdown>
    </Popover>
  );
}

function Choices({ workspace, onDone }: { readonly workspace: string; readonly onDone: () => void }) {
  const { home } = usePerson();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const children = useChildren(workspace);
  const siblings = useChildren(parentOf(workspace));
  const known = [...new Set([home, ...recentWorkspaces(), ...ancestorsOf(workspace), ...children, ...siblings])];
  const found = known.filter((path) => path.includes(text.trim()));
  const isNew = text.includes(':') && !known.includes(text.trim());
  const go = (path: string): void => {
    onDone();
    void navigate({ to: '/w/$workspace', params: { workspace: path } });
  };
  return (
    <form
      className={styles['choices']}
      onSubmit={(event) => {
        event.preventDefault();
        const first = found[0] ?? (isNew ? text.trim() : undefined);
        if (first !== undefined) go(first);
      }}
    >
      <TextInput
        size="xs"
        placeholder="Find, or enter a path such as root:main"
        aria-label="Find a workspace"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        data-autofocus
      />
      <ul>
        {found.map((path) => (
          <Choice key={path} path={path} note={path === home ? 'home' : undefined} isCurrent={path === workspace} onChoose={go} />
        ))}
        {isNew && <Choice path={text.trim()} note="enter this path" onChoose={go} />}
      </ul>
    </form>
  );
}

interface ChoiceProps {
  readonly path: string;
  readonly note?: string | undefined;
  readonly isCurrent?: boolean;
  readonly onChoose: (path: string) => void;
}

function Choice({ path, note, isCurrent = false, onChoose }: ChoiceProps) {
  return (
    <li>
      <button type="button" className={styles['choice']} aria-current={isCurrent || undefined} onClick={() => onChoose(path)}>
        <span>{path}</span>
        {note !== undefined && <small>{note}</small>}
        {isCurrent && <Icon name="check" size={14} />}
      </button>
    </li>
  );
}
