/** The parameters of operations: where they stand and what they are. */
export interface Parameter {
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

export const parameters: Readonly<Record<string, Parameter>> = {
  allowWatchBookmarks: query('boolean', 'Send bookmarks: events that only say how far the watch has come.'),
  continue: query('string', 'The token of the page before.'),
  dryRun: query('string', 'All: check everything and store nothing.'),
  fieldManager: query('string', 'The name under which the fields that are set are remembered.'),
  fieldSelector: query('string', 'Only objects whose fields are so.'),
  fieldValidation: query('string', 'What to do about unknown and repeated fields: Ignore, Warn or Strict.'),
  force: query('boolean', 'Take fields over from other managers. Only for apply.'),
  gracePeriodSeconds: query('integer', 'How long the object has until it is removed.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: query('boolean', 'Delete an object although it cannot be read.'),
  labelSelector: query('string', 'Only objects with such labels.'),
  limit: query('integer', 'At most so many objects on a page.'),
  name: { in: 'path', type: 'string', description: 'The name of the object.' },
  namespace: { in: 'path', type: 'string', description: 'The namespace of the object.' },
  orphanDependents: query('boolean', 'Use propagationPolicy instead.'),
  pretty: query('string', 'true: with line breaks.'),
  propagationPolicy: query('string', 'What happens to the objects that belong to it: Orphan, Background or Foreground.'),
  resourceVersion: query('string', 'How new the answer must be, or where the watch begins.'),
  resourceVersionMatch: query('string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  sendInitialEvents: query('boolean', 'Begin the watch with what is there.'),
  timeoutSeconds: query('integer', 'End the request after that time.'),
  watch: query('boolean', 'Tell changes as they happen.'),
};

function query(type: Parameter['type'], description: string): Parameter {
  return { in: 'query', type, description };
}
