import { Button, PasswordInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Command } from '../../components/copy.tsx';
import { Loading } from '../../components/states.tsx';
import { closeLive } from '../../modules/live/use-live.ts';
import { type Session, sessionQuery, signIn } from '../../modules/session/session.ts';
import { forgetTrouble, lastTrouble, troubleWords } from '../../modules/session/trouble.ts';
import styles from './sign-in.module.css';

/** Takes the code out of the address at once, so that it stays neither in the history nor on the screen. */
function takeCode(): string | undefined {
  if (location.pathname !== '/sign-in' || location.hash.length < 2) return undefined;
  const code = decodeURIComponent(location.hash.slice(1));
  history.replaceState(history.state, '', '/sign-in');
  return code;
}

export function SignIn() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location: place }) => place.pathname });
  const { data: session } = useQuery(sessionQuery);
  const ways = session !== undefined && 'ways' in session ? session.ways : ['token'];
  const [token, setToken] = useState('');
  const [trouble] = useState(() => troubleWords(new URLSearchParams(location.search).get('trouble')) ?? troubleWords(lastTrouble()));
  const { mutate, error, isPending } = useMutation({
    mutationFn: signIn,
    onSuccess: async (person) => {
      // The answer that nobody was signed in may still be on its way.
      await queries.cancelQueries({ queryKey: sessionQuery.queryKey });
      forgetTrouble();
      closeLive();
      // Not the session: the page that waits for it would not hear of the new one.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
      queries.setQueryData(sessionQuery.queryKey, { person } as Session);
      if (path === '/sign-in') void navigate({ to: '/', replace: true });
    },
  });
  const isTaken = useRef(false);
  useEffect(() => {
    if (isTaken.current) return;
    isTaken.current = true;
    document.title = 'Sign in · Capstan';
    const code = takeCode();
    if (code !== undefined) mutate({ code });
  }, [mutate]);

  return (
    <main className={styles['page']}>
      <div className={styles['box']}>
        <img src="/mark.svg" alt="" width={36} height={36} />
        <h1>Sign in to Capstan</h1>
        {isPending && <Loading what="Signing in" />}
        {error === null && !isPending && trouble !== undefined && (
          <p className={styles['trouble']} role="status">
            {trouble}
          </p>
        )}
        {error !== null && (
          <p className={styles['error']} role="alert">
            {error.message}
          </p>
        )}
        {ways.includes('oidc') && (
          <Button
            component="a"
            href={path === '/sign-in' ? '/session/oidc' : `/session/oidc?${new URLSearchParams({ page: path })}`}
            size="sm"
            fullWidth
          >
            Continue with your organization
          </Button>
        )}
        {ways.includes('link') && (
          <section>
            <h2>With a link</h2>
            <p>On a machine where kubectl or capstan works, print a link that is good for one use:</p>
            <Command text="capstan console" />
          </section>
        )}
        {ways.includes('token') && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              mutate({ token: token.trim() });
            }}
          >
            <h2>With a token</h2>
            <PasswordInput
              aria-label="Bearer token"
              placeholder="Bearer token"
              description="From kubectl create token, for example. It stays in the console's process; this page forgets it."
              autoComplete="off"
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
            />
            <Button
              type="submit"
              size="sm"
              variant={ways.includes('oidc') ? 'default' : 'filled'}
              disabled={token.trim() === ''}
              loading={isPending}
            >
              Sign in
            </Button>
          </form>
        )}
      </div>
    </main>
  );
}
