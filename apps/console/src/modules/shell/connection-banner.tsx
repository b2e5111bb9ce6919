import { useEffect, useState } from 'react';
import { timeOfDay } from '../format/format.ts';
import { useLink } from '../live/use-live.ts';
import styles from './connection-banner.module.css';

const words = {
  lost: 'The console has not answered since',
  'upstream-lost': 'The API server has not answered since',
} as const;

/** A connection that comes back at once is not worth a word. */
const patience = 1200;

export function ConnectionBanner() {
  const link = useLink();
  const isAway = link.state === 'lost' || link.state === 'upstream-lost';
  const [phase, setPhase] = useState<'fine' | 'away' | 'back'>('fine');
  useEffect(() => {
    if (isAway) {
      const timer = setTimeout(() => setPhase('away'), patience);
      return () => clearTimeout(timer);
    }
    setPhase((before) => (before === 'away' ? 'back' : before));
    const timer = setTimeout(() => setPhase('fine'), 3000);
    return () => clearTimeout(timer);
  }, [isAway]);
  return (
    <div role="status" aria-live="polite">
      {phase === 'away' && isAway && (
        <p className={styles['banner']} data-tone="warn">
          {words[link.state]} {timeOfDay(link.since)}. It is tried again; the page shows the last known state.
        </p>
      )}
      {phase === 'back' && (
        <p className={styles['banner']} data-tone="good">
          The connection is restored.
        </p>
      )}
    </div>
  );
}
