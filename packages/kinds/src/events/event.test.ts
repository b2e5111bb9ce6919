import type { KubeObject } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { eventStrategies, toCoreEvent, toEventsEvent } from './event.ts';

const stored: KubeObject = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'n' },
  involvedObject: { kind: 'Pod', name: 'p', namespace: 'n' },
  reason: 'R',
  message: 'm',
  source: { component: 'c' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: null,
  count: 3,
  type: 'Normal',
  eventTime: null,
  reportingComponent: 'x.y/z',
  reportingInstance: 'i',
};

const converted: KubeObject = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'n' },
  regarding: { kind: 'Pod', name: 'p', namespace: 'n' },
  reason: 'R',
  note: 'm',
  deprecatedSource: { component: 'c' },
  deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
  deprecatedLastTimestamp: null,
  deprecatedCount: 3,
  type: 'Normal',
  eventTime: null,
  reportingController: 'x.y/z',
  reportingInstance: 'i',
};

describe('an event', () => {
  it('converts between core/v1 and events.k8s.io/v1 without loss', () => {
    expect(toEventsEvent(stored)).toEqual(converted);
    expect(toCoreEvent(converted)).toEqual(stored);
  });

  it('has the fields that each version includes even when empty', () => {
    const bare = toCoreEvent({ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: { name: 'e' } });
    expect(bare).toMatchObject({ involvedObject: {}, source: {}, firstTimestamp: null, reportingComponent: '', reportingInstance: '' });
    expect(toEventsEvent(bare)).not.toHaveProperty('reportingController');
  });

  it('can be selected by its object, under the field names of each version', () => {
    expect(eventStrategies.get('/events')!.selectableFields!(stored)).toMatchObject({
      'involvedObject.kind': 'Pod',
      'involvedObject.uid': '',
      reportingComponent: 'x.y/z',
      source: 'c',
      type: 'Normal',
    });
    expect(eventStrategies.get('events.k8s.io/events')!.selectableFields!(converted)).toMatchObject({
      'regarding.name': 'p',
      reportingController: 'x.y/z',
      reason: 'R',
    });
  });

  it('declares exactly its selectable fields', () => {
    for (const [resource, strategy] of eventStrategies) {
      const fields = strategy.selectableFields!(resource === '/events' ? stored : converted);
      expect(new Set(strategy.selectableLabels)).toEqual(new Set(Object.keys(fields)));
    }
  });
});
