import { names } from '@capstan/machinery';
import { BOOL, objectOf, STRING } from '../types/type.ts';
import { CelError, OpaqueValue, type Value } from '../value/value.ts';
import { type FunctionEntry, member } from './function.ts';

/** An authorization check that an expression makes. */
export type AuthorizationQuestion =
  | { readonly kind: 'path'; readonly path: string; readonly verb: string; readonly serviceAccount?: ServiceAccount }
  | ({ readonly kind: 'resource'; readonly verb: string; readonly serviceAccount?: ServiceAccount } & ResourceQuestion);

/** The subject to check instead of the request's user. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

export interface ResourceQuestion {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason?: string;
  readonly error?: string;
}

/** Answers synchronously: an evaluation cannot wait. */
export type Authorizer = (question: AuthorizationQuestion) => AuthorizationAnswer;

const AUTHORIZER = objectOf('kubernetes.authorization.Authorizer');
const PATH_CHECK = objectOf('kubernetes.authorization.PathCheck');
const GROUP_CHECK = objectOf('kubernetes.authorization.GroupCheck');
const RESOURCE_CHECK = objectOf('kubernetes.authorization.ResourceCheck');
const DECISION = objectOf('kubernetes.authorization.Decision');

/** Authorization values never equal another value. */
abstract class AuthorizationValue extends OpaqueValue {
  equals(other: OpaqueValue): boolean {
    return this === other;
  }
}

/** The value of the variable `authorizer`. */
export class AuthorizerValue extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.Authorizer';
  readonly authorizer: Authorizer;
  readonly account: ServiceAccount | undefined;

  constructor(authorizer: Authorizer, account?: ServiceAccount) {
    super();
    this.authorizer = authorizer;
    this.account = account;
  }

  ask(question: AuthorizationQuestion): Value {
    const asked = this.account === undefined ? question : { ...question, serviceAccount: this.account };
    return new Decision(this.authorizer(asked));
  }
}

class PathCheck extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.PathCheck';
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.GroupCheck';
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

/** The value of the variable `authorizer.requestResource`, and the result of `group(…).resource(…)`. */
export class ResourceCheck extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.ResourceCheck';
  readonly authorizer: AuthorizerValue;
  readonly question: ResourceQuestion;

  constructor(authorizer: AuthorizerValue, question: Partial<ResourceQuestion> & { group: string; resource: string }) {
    super();
    this.authorizer = authorizer;
    this.question = { subresource: '', namespace: '', name: '', fieldSelector: '', labelSelector: '', ...question };
  }

  with(change: Partial<ResourceQuestion>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.question, ...change });
  }
}

class Decision extends AuthorizationValue {
  readonly typeName = 'kubernetes.authorization.Decision';
  readonly answer: AuthorizationAnswer;

  constructor(answer: AuthorizationAnswer) {
    super();
    this.answer = answer;
  }
}

function checkPath(authorizer: AuthorizerValue, path: string): Value {
  return path.trim() === '' ? new CelError('path must not be empty') : new PathCheck(authorizer, path);
}

function checkResource(check: GroupCheck, resource: string): Value {
  if (resource.trim() === '') return new CelError('resource must not be empty');
  return new ResourceCheck(check.authorizer, { group: check.group, resource });
}

function asServiceAccount(authorizer: AuthorizerValue, namespace: string, name: string): Value {
  if (names.dns1123Subdomain(name).length > 0) return new CelError('Invalid service account name');
  if (names.dns1123Label(namespace).length > 0) return new CelError('Invalid service account namespace');
  return new AuthorizerValue(authorizer.authorizer, { namespace, name });
}

function refined(name: keyof ResourceQuestion, id: string): FunctionEntry {
  const refine = (check: ResourceCheck, text: string): Value => check.with({ [name]: text });
  return [name, [member(id, [RESOURCE_CHECK, STRING], RESOURCE_CHECK, refine)]];
}

export const authorization: readonly FunctionEntry[] = [
  ['path', [member('authorizer_path', [AUTHORIZER, STRING], PATH_CHECK, checkPath)]],
  [
    'group',
    [
      member(
        'authorizer_group',
        [AUTHORIZER, STRING],
        GROUP_CHECK,
        (value: AuthorizerValue, group: string) => new GroupCheck(value, group),
      ),
    ],
  ],
  ['serviceAccount', [member('authorizer_serviceaccount', [AUTHORIZER, STRING, STRING], AUTHORIZER, asServiceAccount)]],
  ['resource', [member('groupcheck_resource', [GROUP_CHECK, STRING], RESOURCE_CHECK, checkResource)]],
  refined('subresource', 'resourcecheck_subresource'),
  refined('namespace', 'resourcecheck_namespace'),
  refined('name', 'resourcecheck_name'),
  refined('fieldSelector', 'authorizer_fieldselector'),
  refined('labelSelector', 'authorizer_labelselector'),
  [
    'check',
    [
      member('pathcheck_check', [PATH_CHECK, STRING], DECISION, ({ authorizer, path }: PathCheck, verb: string) =>
        authorizer.ask({ kind: 'path', path, verb }),
      ),
      member('resourcecheck_check', [RESOURCE_CHECK, STRING], DECISION, ({ authorizer, question }: ResourceCheck, verb: string) =>
        authorizer.ask({ kind: 'resource', verb, ...question }),
      ),
    ],
  ],
  ['errored', [member('decision_errored', [DECISION], BOOL, ({ answer }: Decision) => answer.error !== undefined)]],
  ['error', [member('decision_error', [DECISION], STRING, ({ answer }: Decision) => answer.error ?? '')]],
  ['allowed', [member('decision_allowed', [DECISION], BOOL, ({ answer }: Decision) => answer.allowed)]],
  ['reason', [member('decision_reason', [DECISION], STRING, ({ answer }: Decision) => answer.reason ?? '')]],
];

export { AUTHORIZER, RESOURCE_CHECK };
