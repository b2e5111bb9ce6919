import { choice, integer, keyedList, object, optional, type Required, type Rule, raw, type TextOptions, text } from './schema.ts';

/** Fields that many kinds have. */

const labelPattern = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
const subdomainPattern = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
/** As in Kubernetes' own definitions. */
const quantityPattern =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

/** Refuses every change of a value once it is set. */
export const immutable: Rule = { rule: 'self == oldSelf', message: 'is immutable' };

/** The name of a namespace, a service, or another object whose name becomes a part of a DNS name. */
export function labelName(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string> {
  return text(description, { minLength: 1, maxLength: 63, pattern: labelPattern, ...options });
}

/** The name of an object. */
export function objectName(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string> {
  return text(description, { minLength: 1, maxLength: 253, pattern: subdomainPattern, ...options });
}

/** Refers to an object of a kind that the description names: cluster-scoped, or in the namespace of the object that refers. */
export function reference(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<{ readonly name: string }> {
  return object(description, { name: objectName('Name of the object.') }, { atomic: true, ...options });
}

/** Refers to an object in any namespace. */
export function namespacedReference(
  description: string,
  options: Pick<TextOptions, 'rules'> = {},
): Required<{ readonly namespace: string; readonly name: string }> {
  const fields = { namespace: labelName('Namespace of the object.'), name: objectName('Name of the object.') };
  return object(description, fields, { atomic: true, ...options });
}

/** An amount with a suffix, such as `500m` or `80Gi`. */
export function quantity(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string | number> {
  return raw(
    {
      description,
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      pattern: quantityPattern,
      maxLength: 40,
      'x-kubernetes-int-or-string': true,
    },
    options,
  );
}

/** A quantity that is not negative. */
export function amount(description: string): Required<string | number> {
  return quantity(description, {
    rules: [{ rule: "type(self) == int ? self >= 0 : !self.startsWith('-')", message: 'must not be negative' }],
  });
}

/** The name of a label, such as `example.com/rack`. */
export function labelKey(description: string): Required<string> {
  return text(description, {
    minLength: 1,
    maxLength: 316,
    pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$',
  });
}

/** A number, or text such as a percentage or the name of a port. */
export function intOrString(
  description: string,
  { rules = [], ...limits }: Pick<TextOptions, 'maxLength' | 'pattern' | 'rules'> = {},
): Required<string | number> {
  const json = { description, anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true, ...limits };
  return raw(json, rules.length > 0 ? { rules } : {});
}

/** A time in RFC 3339 format, such as `2031-05-06T07:08:09Z`. */
export function timestamp(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string> {
  return text(description, { format: 'date-time', ...options });
}

/** A length of time, such as `90s` or `1h30m`. */
export function duration(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string> {
  return text(description, { maxLength: 64, pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$', ...options });
}

/** A condition as in `metav1.Condition`. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

/** The conditions of a status, one for each type. */
export function conditions(description = 'Current state, one condition for each aspect.'): Required<readonly Condition[]> {
  return keyedList(
    description,
    object('One aspect of the current state.', {
      type: text('Name of the aspect, such as `Ready`.', {
        maxLength: 316,
        pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
      }),
      status: choice('Whether the condition holds.', ['True', 'False', 'Unknown']),
      observedGeneration: optional(integer('`metadata.generation` of the object that the condition describes.', { minimum: 0 })),
      lastTransitionTime: timestamp('Time at which `status` last changed.'),
      reason: text('A word in CamelCase for programs: why the condition has this status.', {
        minLength: 1,
        maxLength: 1024,
        pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      }),
      message: text('Details for people.', { maxLength: 32768 }),
    }),
    { keys: ['type'] },
  );
}
