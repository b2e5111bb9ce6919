/** On every NodeTask that cleans a node after an allocation: the uid of the allocation. */
export const cleaningLabel = 'fleet.capstan.dev/cleaning';

/** On such a task: `true` if a person has declared that nothing remains, whatever the task found. */
export const declaredCleanAnnotation = 'fleet.capstan.dev/declared-clean';
