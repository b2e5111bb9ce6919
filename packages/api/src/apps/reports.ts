import { timestamp } from '../definition/common.ts';
import { anything, flag, integer, object, optional, type ReadOf, text } from '../definition/schema.ts';

/** Where instances and the agents of their nodes report, at the API server: `<workspace>/<namespace>/<instance>`, with `/members/<member>` for one of its members. */
export const appReportsPath = '/capstan/app-reports/';

/** The namespace of root:platform with the accounts and secrets of instances. The account of an instance has its UID as name. */
export const appsNamespace = 'apps';

/** The audience of the tokens of these accounts, which are worth nothing elsewhere. */
export const appReportAudience = 'capstan-app-reports';
/** Stands before such a token. No other token begins like this, so nobody else decodes it. */
export const appTokenPrefix = 'capstan-app.';
/** In seconds: how long a token is valid. The answer to a report has a new one in its last half. */
export const appTokenLifetime = 3_600;

/** The group of the accounts of instances. */
export const appAccountGroup = 'system:capstan-app-accounts';
const userPrefix = 'system:capstan-app-account:';
/** The user of the account of an instance. */
export const appAccountUser = (uid: string): string => userPrefix + uid;

const message = optional(text('Details for people.', { maxLength: 1024 }));

const phaseFields = {
  phase: text('The phase in the words of the app.', { minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' }),
  progress: optional(
    object('How much of the phase is done.', {
      completed: integer('Parts that are done.', { minimum: 0, maximum: 1_000_000 }),
      total: integer('Parts in all.', { minimum: 1, maximum: 1_000_000 }),
    }),
  ),
  message,
};

const healthFields = {
  healthy: flag('Whether the member works.'),
  detail: optional(anything('Findings, at most 4 KiB of JSON.')),
  message,
};

const hintFields = {
  source: text('Who says so: `account`, or `agent/<node>`.', { maxLength: 253 }),
  reportedAt: timestamp('When it was said.'),
  expiresAt: timestamp('When it stops counting.'),
};

/** The body of a report on an instance. */
export const phaseReport = object('The phase of an instance, as it sees itself.', phaseFields);
/** The body of a report on a member. */
export const healthReport = object('The health of a member, as it sees itself.', healthFields);

/** Reports in the status of their objects. They are hints: nothing that the platform has seen itself changes by them. */
export const reportedPhase = object('The phase that the instance itself has reported. A hint, which expires.', {
  ...phaseFields,
  ...hintFields,
});
export const reportedHealth = object('The health that the member itself has reported. A hint, which expires.', {
  ...healthFields,
  ...hintFields,
});

export type ReportedPhase = ReadOf<typeof reportedPhase>;
export type ReportedHealth = ReadOf<typeof reportedHealth>;

/** The answer to a report. */
export interface ReportReceipt {
  readonly expiresAt: string;
  /** In place of the one that the report was sent with, which expires soon. */
  readonly token?: string;
  readonly tokenExpiresAt?: string;
}
