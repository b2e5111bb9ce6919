import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Loading } from './components/states.tsx';
import { AskedView } from './modules/problems/views.tsx';
import { PersonContext } from './modules/session/person.ts';
import { sessionQuery } from './modules/session/session.ts';

const SignIn = lazy(async () => ({ default: (await import('./pages/sign-in/sign-in.tsx')).SignIn }));

/** Shows pages to people who are signed in, and the sign-in page to everybody else, at the same address. */
export function SessionGate() {
  const session = useQuery(sessionQuery);
  return (
    <AskedView of={session} what="your session">
      {(found) =>
        'person' in found ? (
          <PersonContext value={found.person}>
            <Outlet />
          </PersonContext>
        ) : (
          <Suspense fallback={<Loading />}>
            <SignIn />
          </Suspense>
        )
      }
    </AskedView>
  );
}
