/** A parameter of an operation: its location and type. */
export interface Parameter {
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

export const parameters: Readonly<Record<string, Parameter>> = {
  allowWatchBookmarks: query('boolean', 'Send bookmarks: events that only report the progress of the watch.'),
  continue: query('string', 'The token returned with the previous page.'),
  dryRun: query('string', 'All: check everything and store nothing.'),
  fieldManager: query('string', 'The name recorded as the manager of the fields that are set.'),
  fieldSelector: query('string', 'Only objects whose fields match.'),
  fieldValidation: query('string', 'How to treat unknown and duplicate fields: Ignore, Warn or Strict.'),
  force: query('boolean', 'Take fields over from other managers. Only for apply.'),
  gracePeriodSeconds: query('integer', 'How long the object may take to shut down before it is deleted.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: query('boolean', 'Delete an object even if it cannot be read.'),
  labelSelector: query('string', 'Only objects whose labels match.'),
  limit: query('integer', 'The maximum number of objects per page.'),
  name: { in: 'path', type: 'string', description: 'The name of the object.' },
  namespace: { in: 'path', type: 'string', description: 'The namespace of the object.' },
  orphanDependents: query('boolean', 'Use propagationPolicy instead.'),
  pretty: query('string', 'If true, format the response with line breaks.'),
  propagationPolicy: query('string', 'What happens to dependent objects: Orphan, Background or Foreground.'),
  resourceVersion: query('string', 'How recent the response must be, or where the watch starts.'),
  resourceVersionMatch: query('string', 'How to interpret resourceVersion: Exact or NotOlderThan.'),
  sendInitialEvents: query('boolean', 'Start the watch with the existing objects.'),
  timeoutSeconds: query('integer', 'End the request after this time.'),
  watch: query('boolean', 'Stream changes as they happen.'),
};

function query(type: Parameter['type'], description: string): Parameter {
  return { in: 'query', type, description };
}
