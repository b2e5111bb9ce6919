import { createContext, use } from 'react';
import type { Person } from './session.ts';

export const PersonContext = createContext<Person | undefined>(undefined);

/** The person who is signed in. Only below the gate. */
export function usePerson(): Person {
  const person = use(PersonContext);
  if (person === undefined) throw new Error('nobody is signed in here; use it below SessionGate');
  return person;
}

/** The last part of the name of an account, such as `robot` for `system:serviceaccount:default:robot`. */
export const shortName = (user: string): string => (user.startsWith('system:') ? user.slice(user.lastIndexOf(':') + 1) : user);
