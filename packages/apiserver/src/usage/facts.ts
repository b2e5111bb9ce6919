import { type ClockOrigin, isPath, type UsageAppend, type UsageEnd, type UsageFact } from '@capstan/api';
import { fieldsOf, isObject, parseTime, status } from '@capstan/machinery';

const mostFacts = 5_000;
const id = /^[A-Za-z0-9-]{1,64}$/;

/** Parses the body of a request. Nothing that could become a key of another part of the store passes. */
export function parseAppend(text: string): UsageAppend {
  const body = fieldsOf(jsonOf(text));
  const [facts, ends] = [listOf(body['facts'], 'facts'), listOf(body['ends'], 'ends')];
  const origin = body['origin'] === undefined ? {} : { origin: originOf(fieldsOf(body['origin'])) };
  return { facts: facts.map(factOf), ends: ends.map(endOf), clock: timeOf(body['clock'], 'clock'), ...origin };
}

/** `<id of the workspace>/<uid>`; undefined if it is empty. */
export function parseOwner(text: string): Pick<UsageFact, 'cluster' | 'uid'> | undefined {
  const [cluster, uid] = text.split('/');
  return text === '' ? undefined : ownerOf({ cluster, uid }, 'allocation');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw status.badRequest('expected a JSON object with facts, ends and clock');
  }
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value) && value.length <= mostFacts) return value;
  throw status.badRequest(`${name}: expected a list of at most ${mostFacts} items`);
}

function factOf(value: unknown, index: number): UsageFact {
  const fields = isObject(value) ? value : {};
  const where = `facts[${index}]`;
  const text = (name: string): string => textOf(fields[name], `${where}.${name}`);
  const number = (name: string): number => amountOf(fields[name], `${where}.${name}`);
  return {
    ...ownerOf(fields, where),
    attempt: idOf(fields['attempt'], `${where}.attempt`),
    part: number('part'),
    workspace: text('workspace'),
    namespace: text('namespace'),
    name: text('name'),
    offering: text('offering'),
    model: text('model'),
    gpus: number('gpus'),
    cpu: number('cpu'),
    memory: number('memory'),
    ...(fields['storage'] !== undefined && { storage: number('storage') }),
    node: text('node'),
    begin: timeOf(fields['begin'], `${where}.begin`),
  };
}

function endOf(value: unknown, index: number): UsageEnd {
  const fields = isObject(value) ? value : {};
  return {
    ...ownerOf(fields, `ends[${index}]`),
    end: timeOf(fields['end'], `ends[${index}].end`),
    ...(fields['except'] !== undefined && { except: idOf(fields['except'], `ends[${index}].except`) }),
  };
}

function originOf({ boot, startedAt }: Readonly<Record<string, unknown>>): ClockOrigin {
  return { boot: idOf(boot, 'origin.boot'), startedAt: amountOf(startedAt, 'origin.startedAt') };
}

function ownerOf(fields: Readonly<Record<string, unknown>>, where: string): Pick<UsageFact, 'cluster' | 'uid'> {
  const { cluster } = fields;
  if (typeof cluster !== 'string' || !isPath(cluster)) throw status.badRequest(`${where}.cluster: expected the id of a workspace`);
  return { cluster, uid: idOf(fields['uid'], `${where}.uid`) };
}

function idOf(value: unknown, where: string): string {
  if (typeof value === 'string' && id.test(value)) return value;
  throw status.badRequest(`${where}: expected letters, digits and hyphens, at most 64`);
}

function textOf(value: unknown, where: string): string {
  if (typeof value === 'string' && value.length <= 1_024) return value;
  throw status.badRequest(`${where}: expected text of at most 1024 characters`);
}

function amountOf(value: unknown, where: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw status.badRequest(`${where}: expected a whole number`);
}

function timeOf(value: unknown, where: string): string {
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (time === undefined) throw status.badRequest(`${where}: expected a time such as 2026-01-02T15:04:05Z`);
  return time.toISOString();
}
