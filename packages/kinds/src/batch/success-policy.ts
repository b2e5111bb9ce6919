import { type FieldPath, type Fields, fieldError, isAbsent, itemsOf, numberOf, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { countIndexes } from './job-indexes.ts';

const mostRules = 20;
const longestIndexes = 64 * 1024;

/** Validates the policy by which an indexed job succeeds before all of its pods have. */
export function checkSuccessPolicy(found: Findings, at: FieldPath, { policy, spec }: { policy: Fields; spec: Readonly<Fields> }): void {
  if (spec['completionMode'] !== 'Indexed') {
    found.invalid(at, inGo(policy), 'requires indexed completion mode');
    return;
  }
  // Without `completions`, which is reported elsewhere, there is nothing to compare with.
  if (isAbsent(spec['completions'])) return;
  const rules = itemsOf(policy['rules']);
  const path = at.child('rules');
  if (rules.length === 0) found.required(path, 'at least one rules must be specified when the successPolicy is specified');
  if (rules.length > mostRules) found.tooMany(path, rules.length, mostRules);
  for (const [index, rule] of rules.entries()) checkRule(found, path.index(index), { rule, completions: numberOf(spec['completions']) });
}

function checkRule(found: Findings, at: FieldPath, { rule, completions }: { rule: Fields; completions: number }): void {
  const { succeededCount: count, succeededIndexes: indexes } = rule;
  if (isAbsent(count) && isAbsent(indexes)) found.required(at, 'at least one of succeededCount or succeededIndexes must be specified');
  let total = 0;
  if (!isAbsent(indexes)) {
    const path = at.child('succeededIndexes');
    if (textOf(indexes).length > longestIndexes) found.add([fieldError.tooLong(path, longestIndexes)]);
    const counted = countIndexes(textOf(indexes), completions);
    if (typeof counted === 'string') found.invalid(path, indexes, `error parsing succeededIndexes: ${counted}`);
    else total = counted;
  }
  if (isAbsent(count)) return;
  const path = at.child('succeededCount');
  found.nonNegative(path, count);
  if (numberOf(count) > completions)
    found.invalid(path, count, `must be less than or equal to ${completions} (the number of specified completions)`);
  if (!isAbsent(indexes) && numberOf(count) > total) {
    found.invalid(path, count, `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`);
  }
}

/** Converts the policy to the form in which Kubernetes prints it. */
function inGo(policy: Readonly<Fields>): object {
  const rules = itemsOf(policy['rules']).map(({ succeededIndexes, succeededCount }) => ({
    SucceededIndexes: succeededIndexes ?? null,
    SucceededCount: succeededCount ?? null,
  }));
  return { Rules: rules.length === 0 ? null : rules };
}
