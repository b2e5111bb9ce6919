import { ActionIcon, Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { closeLive } from '../live/use-live.ts';
import { shortName, usePerson } from '../session/person.ts';
import { sessionQuery, signOut } from '../session/session.ts';
import { Toasts } from '../toasts/toast-list.tsx';
import { forgetWorkspaces, rememberWorkspace } from '../workspaces/recent.ts';
import { WorkspaceSwitcher } from '../workspaces/switcher.tsx';
import { useWorkspace } from '../workspaces/use-workspace.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { destinations } from './navigation.ts';
import { Palette } from './palette.tsx';
import styles from './shell.module.css';

/** Everything around a page. */
export function Shell() {
  const workspace = useWorkspace();
  const [isOpen, setOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => rememberWorkspace(workspace), [workspace]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes the navigation on a narrow screen whenever the page changes.
  useEffect(() => setOpen(false), [pathname]);
  useHotkeys([['mod+K', () => setPaletteOpen(true)]], []);
  return (
    <div className={styles['shell']}>
      <a href="#page" className={styles['skip']}>
        Skip to the page
      </a>
      <header className={styles['top']}>
        <ActionIcon variant="subtle" color="gray" aria-label="Navigation" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? 'close' : 'menu'} />
        </ActionIcon>
        <span className={styles['topName']}>{workspace}</span>
        <ActionIcon variant="subtle" color="gray" aria-label="Search" onClick={() => setPaletteOpen(true)}>
          <Icon name="search" />
        </ActionIcon>
      </header>
      <aside className={styles['side']} data-open={isOpen || undefined}>
        <Link to="/w/$workspace" params={{ workspace }} className={styles['mark']!} aria-label="Capstan, home">
          <img src="/mark.svg" alt="" width={20} height={20} />
          Capstan
        </Link>
        <WorkspaceSwitcher />
        <button type="button" className={styles['search']} onClick={() => setPaletteOpen(true)}>
          <Icon name="search" size={14} />
          <span>Jump to</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Navigation workspace={workspace} />
        <Account />
      </aside>
      {isOpen && <button type="button" className={styles['veil']} aria-label="Close the navigation" onClick={() => setOpen(false)} />}
      <main id="page" className={styles['main']} tabIndex={-1}>
        <ConnectionBanner />
        <Outlet />
      </main>
      {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
      <Toasts />
    </div>
  );
}

function Navigation({ workspace }: { readonly workspace: string }) {
  const { isPlatformOwner } = usePerson();
  return (
    <nav className={styles['nav']} aria-label="Pages">
      {destinations.map((group) => (
        <ul key={group[0]!.to}>
          {group
            .filter(({ isForOwners }) => isForOwners !== true || isPlatformOwner)
            .map(({ label, to, icon }) => (
              <li key={to}>
                <Link to={to} params={{ workspace }} activeOptions={{ exact: to === '/w/$workspace' }} className={styles['link']!}>
                  <Icon name={icon} />
                  {label}
                </Link>
              </li>
            ))}
        </ul>
      ))}
    </nav>
  );
}

function Account() {
  const { user } = usePerson();
  const queries = useQueryClient();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  const leave = async (): Promise<void> => {
    await signOut();
    closeLive();
    forgetWorkspaces();
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <div className={styles['account']}>
      <Menu position="top-start">
        <Menu.Target>
          <button type="button" className={styles['person']}>
            <span className={styles['initial']} aria-hidden="true">
              {shortName(user.name).slice(0, 1).toUpperCase()}
            </span>
            <span className={styles['personName']}>{shortName(user.name)}</span>
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{user.name}</Menu.Label>
          <Menu.Label>{user.groups.filter((group) => group !== 'system:authenticated').join(', ') || 'no groups'}</Menu.Label>
          <Menu.Item leftSection={<Icon name="leave" />} onClick={() => void leave()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ActionIcon variant="subtle" color="gray" aria-label={`Use ${other} colours`} onClick={() => setColorScheme(other)}>
        <Icon name={scheme === 'dark' ? 'sun' : 'moon'} />
      </ActionIcon>
    </div>
  );
}
