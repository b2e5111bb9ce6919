import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Revocations } from './revocations.ts';
import { type Credentials, type Fault, Unauthenticated } from './user.ts';

const jane = { name: 'jane', groups: [] };

class FakeRequest {
  isEnded = false;
  #listeners: (() => void)[] = [];
  abandon(): void {
    this.isEnded = true;
    for (const listener of this.#listeners) listener();
  }
  onClose(listener: () => void): void {
    this.#listeners.push(listener);
  }
}

describe('open requests', () => {
  const faults = new Map<string, Fault>();
  let asked: string[];
  let revocations: Revocations;
  const authenticate = ({ authorization = '', certificate }: Credentials) => {
    asked.push(authorization);
    const fault = faults.get(authorization);
    if (fault !== undefined && certificate === undefined) throw new Unauthenticated('no', { fault });
    return jane;
  };
  const open = (credentials: Credentials): FakeRequest => {
    const request = new FakeRequest();
    revocations.add(request, credentials);
    return request;
  };

  beforeEach(() => {
    faults.clear();
    asked = [];
    revocations = new Revocations({ authenticator: { authenticate }, interval: 1e6 });
  });
  afterEach(() => revocations[Symbol.dispose]());

  test('end when their token is revoked, and others go on', () => {
    const [one, two, other] = [open({ authorization: 'a' }), open({ authorization: 'a' }), open({ authorization: 'b' })];
    revocations.check();
    expect([one.isEnded, two.isEnded, other.isEnded]).toEqual([false, false, false]);
    faults.set('a', 'revoked');
    revocations.check();
    expect([one.isEnded, two.isEnded, other.isEnded]).toEqual([true, true, false]);
    expect(revocations.count).toBe(1);
  });

  test.each<[Fault, boolean]>([
    ['unknown-token', true],
    ['expired', false],
    ['issuer-out-of-reach', false],
    ['unknown-issuer', false],
  ])('whose token is refused as %s end: %s', (fault, isEnded) => {
    const request = open({ authorization: 'a' });
    faults.set('a', fault);
    revocations.check();
    expect(request.isEnded).toBe(isEnded);
  });

  test('go on if a certificate accepts them', () => {
    const request = open({ authorization: 'a', certificate: () => Buffer.alloc(1) });
    faults.set('a', 'revoked');
    revocations.check();
    expect(request.isEnded).toBe(false);
  });

  test('cost one question for each token', () => {
    for (let index = 0; index < 50; index++) open({ authorization: 'a' });
    open({});
    revocations.check();
    expect(asked).toEqual(['a']);
  });

  test('are checked in portions, and all of them in turn', () => {
    const requests = Array.from({ length: 1_000 }, (_, index) => open({ authorization: `token ${index}` }));
    revocations.check();
    expect(asked).toHaveLength(200);
    faults.set('token 0', 'revoked').set('token 999', 'revoked');
    for (let times = 0; times < 6; times++) revocations.check();
    expect(requests.flatMap(({ isEnded }, index) => (isEnded ? [index] : []))).toEqual([0, 999]);
  });

  test('are forgotten when they have ended', () => {
    open({ authorization: 'a' }).abandon();
    expect(revocations.count).toBe(0);
  });
});
