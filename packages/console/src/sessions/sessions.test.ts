import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newSecret } from './secret.ts';
import { type SessionLimits, Sessions, TooManySessions } from './sessions.ts';
import { Vault } from './vault.ts';

const minute = 60_000;
let directory: string;
let time: number;
let sessions: Sessions;
const opened: Sessions[] = [];

/** As after a restart of the process. */
function open(limits: Partial<SessionLimits> = {}): Sessions {
  const made = new Sessions({ vault: new Vault(directory), now: () => time, limits: { idle: 30 * minute, age: 100 * minute, ...limits } });
  opened.push(made);
  return made;
}

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'capstan-sessions-')), 'console');
  time = 1_000_000;
  sessions = open();
});
afterEach(() => {
  for (const one of opened.splice(0)) one[Symbol.dispose]();
  rmSync(join(directory, '..'), { recursive: true });
});

const jane = { user: 'jane', tokenEndsAt: undefined };

test('only the cookie finds its session', async () => {
  const { secret, session } = sessions.begin({ token: 'abc' }, jane);
  expect(sessions.find(secret)).toBe(session);
  expect(await session.authorization()).toBe('Bearer abc');
  for (const other of [undefined, '', newSecret(), session.name]) expect(sessions.find(other)).toBeUndefined();
});

test('a session ends when its user signs out, and everything that it opened ends with it', () => {
  const { secret, session } = sessions.begin({ token: 'abc' }, jane);
  sessions.end(session);
  expect(session.ended).toMatchObject({ aborted: true, reason: 'signed-out' });
  expect(sessions.find(secret)).toBeUndefined();
  expect(open().find(secret)).toBeUndefined();
});

test.each([
  ['with its token', { token: 'abc' }, { user: 'jane', tokenEndsAt: 1_000_000 + 10 * minute }, 10],
  ['with its age, if its token can be renewed', { token: 'abc', refreshToken: 'r' }, { user: 'jane', tokenEndsAt: 1_000_001 }, 100],
  ['with its age, if the token does not say when it ends', { token: 'abc' }, jane, 100],
])('a session ends %s, though it is used', (_when, credential, facts, minutes) => {
  const { secret, session } = sessions.begin(credential, facts);
  for (let passed = 0; passed < minutes; passed += 5) {
    expect(sessions.find(secret)).toBe(session);
    time += 5 * minute;
  }
  expect(sessions.find(secret)).toBeUndefined();
  expect(session.ended.aborted).toBe(true);
});

test('a session that nobody uses ends, unless a tab is open', () => {
  const { secret, session } = sessions.begin({ token: 'abc' }, jane);
  const other = sessions.begin({ token: 'abc' }, jane);
  session.sockets = 1;
  time += 31 * minute;
  sessions.sweep();
  expect(other.session.ended.aborted).toBe(true);
  expect(sessions.find(secret)).toBe(session);
});

test('sessions survive a restart, and what they had open ends as at a restart', () => {
  const { secret, session } = sessions.begin({ token: 'abc', refreshToken: 'again' }, jane);
  time += 20 * minute;
  sessions.find(secret);
  sessions[Symbol.dispose]();
  expect(session.ended.reason).toBe('stopping');
  time += 20 * minute;
  const later = open();
  expect(later.find(newSecret())).toBeUndefined();
  expect(later.find(secret)?.credential).toEqual({ token: 'abc', refreshToken: 'again' });
});

test('the files can be read by their owner only, and contain neither tokens nor cookies', () => {
  const { secret } = sessions.begin({ token: 'the-token' }, jane);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  for (const name of ['sessions.json', 'sessions.key']) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  const text = readFileSync(join(directory, 'sessions.json'), 'utf8');
  for (const secretText of ['the-token', secret, 'jane']) expect(text).not.toContain(secretText);
});

test('another key, a changed file or another cookie opens nothing', () => {
  const { secret } = sessions.begin({ token: 'abc' }, jane);
  const file = join(directory, 'sessions.json');
  const text = readFileSync(file, 'utf8');
  const [one] = JSON.parse(text) as { sealed: string }[];
  const sealed = Buffer.from(one!.sealed, 'base64');
  sealed[sealed.length - 1]! ^= 1;
  writeFileSync(file, JSON.stringify([{ ...one, sealed: sealed.toString('base64') }]));
  expect(open().find(secret)).toBeUndefined();
  writeFileSync(file, text);
  expect(open().find(secret)).toBeDefined();
  writeFileSync(join(directory, 'sessions.key'), Buffer.alloc(32));
  expect(open().find(secret)).toBeUndefined();
});

test.each(['', 'no json', '{}', '[1, null, {"name": "x"}]'])('a file with %j means that everybody signs in again', (text) => {
  sessions.begin({ token: 'abc' }, jane);
  writeFileSync(join(directory, 'sessions.json'), text);
  expect(open().count).toBe(0);
});

test('a user who signs in too often loses the session that was unused for longest, and nobody else does', () => {
  const limited = open({ perUser: 2, sessions: 4 });
  const other = limited.begin({ token: 'o' }, { ...jane, user: 'other' });
  const first = limited.begin({ token: '1' }, jane);
  time += 1;
  const second = limited.begin({ token: '2' }, jane);
  time += 1;
  limited.find(first.secret);
  limited.begin({ token: '3' }, jane);
  expect([first, second, other].map(({ session }) => session.ended.aborted)).toEqual([false, true, false]);
});

test('there are no more sessions than the limit', () => {
  const limited = open({ sessions: 2 });
  limited.begin({ token: '1' }, { ...jane, user: 'a' });
  limited.begin({ token: '2' }, { ...jane, user: 'b' });
  expect(() => limited.begin({ token: '3' }, { ...jane, user: 'c' })).toThrow(TooManySessions);
  time += 31 * minute;
  expect(limited.begin({ token: '3' }, { ...jane, user: 'c' })).toBeDefined();
});

test('a disk that cannot be written keeps nobody out, and is reported once', () => {
  const log: string[] = [];
  const vault = new Vault(directory);
  const full = new Sessions({ vault, now: () => time, log: (line) => log.push(line) });
  opened.push(full);
  mkdirSync(join(directory, 'sessions.json.new'));
  const { secret, session } = full.begin({ token: 'abc' }, jane);
  expect(full.find(secret)).toBe(session);
  full.end(session);
  expect(log).toEqual([expect.stringContaining('sessions would not survive a restart')]);
});
