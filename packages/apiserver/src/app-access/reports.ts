import {
  type AppInstance,
  type AppMember,
  appInstanceKind,
  appMemberKind,
  appReportsPath,
  appsGroup,
  appTokenLifetime,
  type ClusterId,
  type ReportReceipt,
  rootCluster,
} from '@capstan/api';
import { BoundedMap, type JsonObject, type KubeObject, sameJson, status } from '@capstan/machinery';
import { bearerToken } from '../authn/bearer.ts';
import { peerCertificate } from '../authn/peer-certificate.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Exchange } from '../http/exchange.ts';
import { agentOfRaw } from '../node-agents/agent-certificate.ts';
import type { NodeIdentities } from '../node-agents/identities.ts';
import type { Page } from '../registry/page.ts';
import type { RequestInfo } from '../registry/scope.ts';
import { update } from '../registry/update.ts';
import { serverContext } from '../upkeep/context.ts';
import type { AppAccount, AppAccounts } from './accounts.ts';
import type { AppObjects, InstancePlace } from './members.ts';
import { parseReport } from './report-body.ts';

export interface AppReportsOptions {
  readonly serving: Serving;
  readonly objects: AppObjects;
  readonly accounts: AppAccounts;
  readonly identities: NodeIdentities;
  readonly resolve: (workspace: string) => ClusterId | undefined;
  readonly now: () => Date;
}

/** In milliseconds: how long a report counts. */
const lifetime = 300_000;
/** Of each account and each agent: reports in a second, and at once. */
const rate = 1;
const burst = 10;
const largestBody = 16 << 10;
const manager = 'capstan-app-reports';

/** `/capstan/app-reports/`: an instance, or the agent of one of its nodes, reports how it is. The reports are hints in the status, with their source and time. */
export function appReportsPage(options: AppReportsOptions): readonly [string, Page] {
  const reports = new AppReports(options);
  return [
    appReportsPath,
    async (exchange, info) => {
      if (info.cluster !== rootCluster) throw status.noSuchResource();
      if (info.method !== 'POST') throw status.methodNotAllowed();
      const receipt = await reports.take(exchange, info);
      exchange.header('Cache-Control', 'no-store');
      exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(receipt) });
    },
  ];
}

/** The sender of a report. */
type Reporter = { readonly kind: 'account'; readonly account: AppAccount } | { readonly kind: 'agent'; readonly node: string };

interface Subject {
  readonly place: InstancePlace;
  readonly instance: AppInstance;
  /** Undefined for a report on the instance. */
  readonly member: AppMember | undefined;
}

class AppReports {
  readonly #options: AppReportsOptions;
  readonly #allowances = new BoundedMap<string, { left: number; at: number }>(10_000);

  constructor(options: AppReportsOptions) {
    this.#options = options;
  }

  async take(exchange: Exchange, info: Pick<RequestInfo, 'path' | 'query'>): Promise<ReportReceipt> {
    if (!info.query.isEmpty) throw status.badRequest('expected no query: a token belongs into the header Authorization');
    const reporter = await this.#reporter(exchange);
    const subject = this.#subject(info.path, reporter);
    this.#spend(reporter.kind === 'account' ? reporter.account.uid : `agent/${reporter.node}`);
    const type = subject.member === undefined ? 'phase' : 'health';
    const report = parseReport(type, (await exchange.body(largestBody)).toString('utf8'));
    const expiresAt = await this.#write(subject, report, reporter.kind === 'account' ? 'account' : `agent/${reporter.node}`);
    return { expiresAt, ...this.#renewed(reporter) };
  }

  /** An agent has a certificate, and everybody else a token. Users who act for others are never reporters. */
  async #reporter(exchange: Exchange): Promise<Reporter> {
    const { authorization } = exchange.headers;
    if (exchange.headers['impersonate-user'] !== undefined) throw refusal();
    if (authorization !== undefined) {
      const account = await this.#options.accounts.accountOf(bearerToken(authorization) ?? '').catch(() => undefined);
      if (account === undefined) throw refusal();
      return { kind: 'account', account };
    }
    const raw = peerCertificate(exchange.socket);
    const agent = raw && agentOfRaw(raw);
    if (agent === undefined || this.#options.identities.problem(agent) !== undefined) throw refusal();
    return { kind: 'agent', node: agent.node };
  }

  /** Instances of others and those that do not exist look the same. */
  #subject(path: string, reporter: Reporter): Subject {
    const { objects, resolve } = this.#options;
    const found = /^([^/]+)\/([^/]+)\/([^/]+)(?:\/members\/([^/]+))?$/.exec(path.slice(appReportsPath.length));
    if (found === null) throw status.badRequest(`expected ${appReportsPath}<workspace>/<namespace>/<instance>[/members/<member>]`);
    const [, workspace = '', namespace = '', name = '', memberName] = found;
    const cluster = resolve(workspace);
    const place = { cluster: cluster!, namespace, name };
    const instance = cluster === undefined ? undefined : objects.instance(place);
    if (instance === undefined) throw refusal();
    const named = memberName === undefined ? undefined : objects.member(place, memberName);
    if (reporter.kind === 'account') {
      if (instance.metadata.uid !== reporter.account.uid) throw refusal();
      if (memberName !== undefined && named === undefined)
        throw status.notFound({ group: appsGroup, resource: appMemberKind.resource }, memberName);
    } else {
      const booked = memberName === undefined ? objects.members(place) : named && objects.isBooked(named, cluster!) ? [named] : [];
      if (!booked.some(({ spec }) => spec.node === reporter.node)) throw refusal();
    }
    return { place, instance, member: named };
  }

  #spend(who: string): void {
    const now = this.#options.now().getTime();
    const allowance = this.#allowances.getOrCompute(who, () => ({ left: burst, at: now }));
    allowance.left = Math.min(burst, allowance.left + (Math.max(0, now - allowance.at) / 1_000) * rate);
    allowance.at = now;
    if (allowance.left < 1) throw status.tooManyRequests(`at most ${burst} reports at once and ${rate} in a second are accepted`, 1);
    allowance.left--;
  }

  /** A report that says nothing new is stored again only when the last one is half over. */
  async #write({ place, member, instance }: Subject, report: JsonObject, source: string): Promise<string> {
    const { serving, objects, now } = this.#options;
    const { cluster, namespace } = place;
    const kind = member === undefined ? appInstanceKind : appMemberKind;
    const resource = serving.catalogs.of(cluster).resource(kind.group, kind.version, kind.resource);
    if (resource === undefined || !objects.isOfPlatform(resource)) throw refusal();
    const before = (member ?? instance).status?.reported;
    const time = now().getTime();
    if (before !== undefined && Date.parse(before.expiresAt) - time > lifetime / 2) {
      const { reportedAt: _r, expiresAt, ...said } = before;
      if (sameJson(said, { ...report, source })) return expiresAt;
    }
    const expiresAt = timeText(time + lifetime);
    const reported = { ...report, source, reportedAt: timeText(time), expiresAt };
    const { uid, name = '' } = (member ?? instance).metadata;
    await update(serving, serverContext({ cluster, objects: serving.cache, now }), {
      resource,
      namespace,
      name,
      subresource: 'status',
      manager,
      dryRun: false,
      change: (old) => {
        if (old.metadata.uid !== uid) throw refusal();
        return { object: { ...old, status: { ...(old as KubeObject & { readonly status?: object }).status, reported } } };
      },
    });
    return expiresAt;
  }

  #renewed(reporter: Reporter): Partial<ReportReceipt> {
    if (reporter.kind !== 'account') return {};
    const left = reporter.account.expiresAt - this.#options.now().getTime();
    if (left > (appTokenLifetime / 2) * 1_000) return {};
    const renewed = this.#options.accounts.renew(reporter.account);
    return renewed === undefined ? {} : { token: renewed.token, tokenExpiresAt: renewed.expiresAt };
  }
}

const timeText = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

const refusal = () =>
  status.forbidden(
    { group: appsGroup, resource: 'reports' },
    '',
    'only the account of an instance and the agents of the nodes of its members may report on it',
  );
