import './styles/mantine.css';
import './styles/tokens.css';
import './styles/base.css';
import { ApiError } from '@capstan/client/browser';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSignedOut } from './modules/kube/client.ts';
import { closeLive } from './modules/live/use-live.ts';
import { sessionQuery } from './modules/session/session.ts';
import { noteTrouble } from './modules/session/trouble.ts';
import { router } from './router.tsx';
import { theme } from './theme.ts';

/** Requests that were refused stay refused. */
const mayHelp = (failures: number, error: unknown): boolean =>
  failures < 1 && !(error instanceof ApiError && error.code >= 400 && error.code < 500);

const queries = new QueryClient({
  defaultOptions: { queries: { retry: mayHelp, refetchOnWindowFocus: false, staleTime: 10_000 } },
});

whenSignedOut((trouble) => {
  noteTrouble(trouble);
  closeLive();
  void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
