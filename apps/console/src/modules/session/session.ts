import { queryOptions } from '@tanstack/react-query';
import { ownRequest } from '../kube/client.ts';

/** The ways in which people can sign in here. */
export type Way = 'token' | 'link' | 'oidc';

export interface Person {
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  /** The workspace in which a person starts. */
  readonly home: string;
  readonly expiresAt?: string;
  readonly isPlatformOwner: boolean;
}

export type Session = { readonly person: Person } | { readonly ways: readonly Way[] };

/** The process answered, but not as expected. */
export class SessionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'SessionError';
    this.code = code;
  }
}

async function readSession(): Promise<Session> {
  const answer = await fetch('/session', { cache: 'no-store' });
  if (answer.ok) return { person: (await answer.json()) as Person };
  if (answer.status !== 401) throw await errorOf(answer);
  const { ways } = (await answer.json().catch(() => ({}))) as { ways?: readonly Way[] };
  return { ways: ways ?? ['token'] };
}

async function errorOf(answer: Response): Promise<SessionError> {
  const text = await answer.text().catch(() => '');
  return new SessionError(answer.status, messageIn(text) ?? `the console answered ${answer.status}`);
}

function messageIn(text: string): string | undefined {
  try {
    const { message, detail } = JSON.parse(text) as { message?: unknown; detail?: unknown };
    return [message, detail].find((one) => typeof one === 'string');
  } catch {
    return undefined;
  }
}

export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: readSession, staleTime: Number.POSITIVE_INFINITY, retry: 2 });

export async function signIn(proof: { readonly token: string } | { readonly code: string }): Promise<Person> {
  const answer = await fetch('/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...ownRequest },
    body: JSON.stringify(proof),
  });
  if (!answer.ok) throw await errorOf(answer);
  return (await answer.json()) as Person;
}

export async function signOut(): Promise<void> {
  await fetch('/session', { method: 'DELETE', headers: ownRequest });
}
