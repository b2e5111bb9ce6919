import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import form from './form.module.css';

/** How many entries appear at a time. Tables draw only what is visible; entries of any height cannot do that. */
const portion = 50;

interface LongListProps<T> {
  readonly of: readonly T[];
  /** The plural, such as `members`. */
  readonly what: string;
  readonly children: (shown: readonly T[]) => ReactNode;
}

/** The beginning of a list, and a button for more of it: thousands of entries at once would take seconds to draw. */
export function LongList<T>({ of, what, children }: LongListProps<T>) {
  const [most, setMost] = useState(portion);
  const rest = of.length - most;
  return (
    <>
      {children(of.slice(0, most))}
      {rest > 0 && (
        <div className={form['buttons']}>
          <Button variant="default" onClick={() => setMost(most + portion)}>
            Show {Math.min(portion, rest)} more {what}
          </Button>
          <span className={form['hint']}>
            {most.toLocaleString('en')} of {of.length.toLocaleString('en')} are shown.
          </span>
        </div>
      )}
    </>
  );
}
