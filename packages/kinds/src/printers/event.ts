import { age, fieldsOf, type KubeObject, maybeFields, numberOf, textOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer } from './columns.ts';

/** The parts of an event under the same names for both API groups. */
function partsOf(event: KubeObject) {
  const isCore = event.apiVersion === 'v1';
  return {
    object: fieldsOf(event[isCore ? 'involvedObject' : 'regarding']),
    source: fieldsOf(event[isCore ? 'source' : 'deprecatedSource']),
    message: textOf(event[isCore ? 'message' : 'note']),
    first: textOf(event[isCore ? 'firstTimestamp' : 'deprecatedFirstTimestamp']),
    last: textOf(event[isCore ? 'lastTimestamp' : 'deprecatedLastTimestamp']),
    count: numberOf(event[isCore ? 'count' : 'deprecatedCount']),
    controller: textOf(event[isCore ? 'reportingComponent' : 'reportingController']),
    instance: textOf(event['reportingInstance']),
    series: maybeFields(event['series']),
  };
}

type Parts = ReturnType<typeof partsOf>;

function times({ first, last, series }: Parts, eventTime: string, now: Date): { firstSeen: string; lastSeen: string } {
  const firstSeen = age(first || eventTime, now);
  if (series !== undefined) return { firstSeen, lastSeen: age(textOf(series['lastObservedTime']), now) };
  return { firstSeen, lastSeen: last === '' ? firstSeen : age(last, now) };
}

function sourceOf({ source, controller, instance }: Parts): string {
  const component = textOf(source['component']) || controller;
  const host = textOf(source['host']) || instance;
  return host === '' ? component : `${component}, ${host}`;
}

function targetOf({ object }: Parts): string {
  const kind = textOf(object['kind']).toLowerCase();
  const name = textOf(object['name']);
  return name === '' ? kind : `${kind}/${name}`;
}

const eventPrinter = printer(
  'Last Seen, Type, Reason, Object, +Subobject, +Source, Message, +First Seen, +Count, !+Name',
  ({ object: event, name, now }) => {
    const parts = partsOf(event);
    const { firstSeen, lastSeen } = times(parts, textOf(event['eventTime']), now);
    return [
      lastSeen,
      textOf(event['type']),
      textOf(event['reason']),
      targetOf(parts),
      textOf(parts.object['fieldPath']),
      sourceOf(parts),
      parts.message.trim(),
      firstSeen,
      parts.series === undefined ? parts.count || 1 : numberOf(parts.series['count']),
      name,
    ];
  },
);

export const eventPrinters = new Map<string, TablePrinter>([
  ['/events', eventPrinter],
  ['events.k8s.io/events', eventPrinter],
]);
