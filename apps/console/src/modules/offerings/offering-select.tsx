import { offeringKind } from '@capstan/api';
import { Select } from '@mantine/core';
import type { ReactNode } from 'react';
import form from '../../components/form.module.css';
import { mostOptions } from '../../components/most-options.ts';
import { useLive } from '../live/use-live.ts';
import { problemOfStatus } from '../problems/problem.ts';
import { offeringWords } from './words.ts';

interface OfferingSelectProps {
  readonly workspace: string;
  readonly value: string | null;
  readonly error?: string | undefined;
  readonly onChange: (offering: string | null) => void;
  /** Tells people without any offering what to do. */
  readonly children: ReactNode;
}

/** The choice of an offering, or why there is none. */
export function OfferingSelect({ workspace, value, error, onChange, children }: OfferingSelectProps) {
  const offerings = useLive(offeringKind, { workspace });
  const known = offerings.state === 'content' ? offerings.content : [];
  const problem = offerings.state === 'error' ? problemOfStatus(offerings.status, 'offerings') : undefined;
  return (
    <>
      <Select
        label="Offering"
        placeholder={offerings.state === 'loading' ? 'Loading' : 'Choose one'}
        data={known.map((one) => ({ value: one.metadata.name!, label: `${one.metadata.name} · ${offeringWords(one)}` }))}
        value={value}
        error={error}
        onChange={onChange}
        searchable
        limit={mostOptions}
      />
      {offerings.state === 'content' && known.length === 0 && <p className={form['hint']}>Nothing is offered here yet. {children}</p>}
      {problem !== undefined && (
        <p className={form['fault']} role="alert">
          {problem.title}. {problem.next}
        </p>
      )}
    </>
  );
}
