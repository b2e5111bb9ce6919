import { type FieldError, FieldPath, type Fields, fieldError, fieldsOf, names } from '@capstan/machinery';
import type { Strategy } from '../strategy.ts';

const path = FieldPath.of('spec');

/** Coordinated leader election is off, as it is by default in Kubernetes: its fields are dropped unless they are stored already. */
const coordinatedFields = ['strategy', 'preferredHolder'];

function dropCoordinated(spec: Fields, old: Readonly<Fields>): void {
  for (const name of coordinatedFields) if (old[name] === undefined) delete spec[name];
}

function strategyErrors(strategy: string): FieldError[] {
  const at = path.child('strategy', 'strategy');
  if (!strategy.includes('/'))
    return strategy === 'OldestEmulationVersion' ? [] : [fieldError.notSupported(at, strategy, ['OldestEmulationVersion'])];
  return names.qualifiedName(strategy).map((message) => fieldError.invalid(at, strategy, message));
}

const leases: Strategy = {
  createOnUpdate: true,
  requireResourceVersion: true,
  prepareForCreate(object) {
    dropCoordinated(fieldsOf(object['spec']), {});
  },
  prepareForUpdate(object, old) {
    dropCoordinated(fieldsOf(object['spec']), fieldsOf(old['spec']));
  },
  validate(object) {
    const { leaseDurationSeconds: duration, leaseTransitions: transitions, strategy, preferredHolder } = fieldsOf(object['spec']);
    const errors: FieldError[] = [];
    if (typeof duration === 'number' && duration <= 0) {
      errors.push(fieldError.invalid(path.child('leaseDurationSeconds'), duration, 'must be greater than 0'));
    }
    if (typeof transitions === 'number' && transitions < 0) {
      errors.push(fieldError.invalid(path.child('leaseTransitions'), transitions, 'must be greater than or equal to 0'));
    }
    if (typeof strategy === 'string') errors.push(...strategyErrors(strategy));
    if (preferredHolder && !strategy)
      errors.push(fieldError.forbidden(path.child('preferredHolder'), 'may only be specified if `strategy` is defined'));
    return errors;
  },
};

export const coordinationStrategies: ReadonlyMap<string, Strategy> = new Map([['coordination.k8s.io/leases', leases]]);
