import { type ReactNode, useEffect } from 'react';
import styles from './page.module.css';

interface PageProps {
  /** Also the title of the tab. */
  readonly title: string;
  readonly above?: ReactNode;
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, above, beside, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Capstan`;
  }, [title]);
  return (
    <div className={styles['page']}>
      {above !== undefined && (
        <nav className={styles['above']} aria-label="Above this page">
          {above}
        </nav>
      )}
      <header className={styles['header']}>
        <h1>{title}</h1>
        {beside !== undefined && <div className={styles['beside']}>{beside}</div>}
        <div className={styles['actions']}>{actions}</div>
      </header>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly count?: number | undefined;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, count, note, actions, children }: SectionProps) {
  return (
    <section className={styles['section']}>
      <header className={styles['sectionHeader']}>
        <h2>
          {title}
          {count !== undefined && <span className={styles['count']}>{count}</span>}
        </h2>
        {note !== undefined && <span className={styles['note']}>{note}</span>}
        <div className={styles['actions']}>{actions}</div>
      </header>
      {children}
    </section>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
  /** Without a frame, for those that are in one already. */
  readonly isPlain?: boolean;
}

/** Names and values, such as the facts about an object. */
export function Facts({ facts, isPlain = false }: FactsProps) {
  return (
    <dl className={styles['facts']} data-plain={isPlain || undefined}>
      {facts
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
