/** Reasons for which somebody has to sign in, or could not. The process names those of a provider in the address of the sign-in page. */
const words = {
  denied: 'Your organization did not allow the sign-in. Try again, or ask your administrator.',
  expired: 'The sign-in took too long, or began in another browser. Try again.',
  provider: 'Your organization did not answer as expected. Try again in a moment; the operator of this console finds more in its log.',
  refused: 'You are known to your organization, but not to this platform. Ask its owner for access.',
  'signed-out': 'This session was ended, here or in another tab.',
  'session-expired': 'Your session has expired. Sign in again to go on where you were.',
  'session-over': 'Your session is over. Sign in again to go on where you were.',
  'token-refused': 'The server no longer accepts your token: it was revoked, or has expired.',
} as const;

export type Trouble = keyof typeof words;

/** The trouble in words; undefined for anything else, which anybody may have written into an address. */
export const troubleWords = (trouble: string | null | undefined): string | undefined =>
  typeof trouble === 'string' && Object.hasOwn(words, trouble) ? words[trouble as Trouble] : undefined;

/** The code with which the process closes the stream of a page that is no longer signed in. */
const signedOutCode = 4401;
const reasons: Readonly<Record<string, Trouble>> = { expired: 'session-expired', refused: 'token-refused', 'signed-out': 'signed-out' };

/** The trouble that the end of a stream means; undefined if it says nothing about the session. */
export const troubleOfEnd = ({ code, reason }: { readonly code: number; readonly reason: string }): Trouble | undefined =>
  code === signedOutCode ? (reasons[reason] ?? 'session-over') : undefined;

let last: Trouble | undefined;

/** Keeps a trouble for the sign-in page. A request only knows that the session is over; the stream may know why. */
export function noteTrouble(trouble: Trouble): void {
  if (last === undefined || trouble !== 'session-over') last = trouble;
}

export const lastTrouble = (): Trouble | undefined => last;

export function forgetTrouble(): void {
  last = undefined;
}
