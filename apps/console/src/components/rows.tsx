import { ActionIcon, Button } from '@mantine/core';
import type { ReactNode } from 'react';
import form from './form.module.css';
import { Icon } from './icon.tsx';

interface RowsProps<T> {
  readonly rows: readonly T[];
  readonly empty: T;
  /** The singular, such as `variable`. */
  readonly what: string;
  readonly fault?: string | undefined;
  readonly onChange: (rows: readonly T[]) => void;
  readonly children: (row: T, change: (part: Partial<T>) => void, index: number) => ReactNode;
}

/** A list of things that can be added and removed. */
export function Rows<T extends object>({ rows, empty, what, fault, onChange, children }: RowsProps<T>) {
  return (
    <>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows of a form have no other identity.
        <div key={index} className={form['row']}>
          {children(row, (part) => onChange(rows.with(index, { ...row, ...part })), index)}
          <ActionIcon
            className={form['fixed']!}
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Remove the ${what}`}
            onClick={() => onChange(rows.toSpliced(index, 1))}
          >
            <Icon name="close" size={14} />
          </ActionIcon>
        </div>
      ))}
      {fault !== undefined && <p className={form['fault']}>{fault}</p>}
      <div>
        <Button variant="default" leftSection={<Icon name="plus" size={13} />} onClick={() => onChange([...rows, empty])}>
          Add a {what}
        </Button>
      </div>
    </>
  );
}
