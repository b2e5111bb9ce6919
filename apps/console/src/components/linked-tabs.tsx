import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import styles from './linked-tabs.module.css';

export interface LinkedTab {
  readonly id: string;
  readonly label: string;
  readonly content: () => ReactNode;
}

/** Tabs whose choice is in the address, so that links lead to them. Only the shown one is in the document. */
export function LinkedTabs({ tabs }: { readonly tabs: readonly LinkedTab[] }) {
  const { tab } = useSearch({ strict: false });
  const navigate = useNavigate();
  const shown = tabs.find(({ id }) => id === tab) ?? tabs[0];
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a narrow screen, the chosen tab may be beyond the edge.
  useEffect(() => {
    list.current?.querySelector('[data-active]')?.scrollIntoView({ inline: 'nearest', block: 'nearest' });
  }, [shown?.id]);
  return (
    <Tabs
      value={shown?.id ?? null}
      keepMounted={false}
      onChange={(next) => void navigate({ to: '.', search: { tab: next ?? '' }, replace: true })}
    >
      <Tabs.List mb="md" className={styles['list']!} ref={list}>
        {tabs.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ id, content }) => (
        <Tabs.Panel key={id} value={id} className={styles['panel']!}>
          {id === shown?.id && content()}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
