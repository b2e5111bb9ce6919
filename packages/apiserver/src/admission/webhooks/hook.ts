import type { CompiledExpression } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, maybeFields, numberOf, textOf, textsOf } from '@capstan/machinery';
import type { Evaluated } from '../../registry/quarantine.ts';
import { conditionsOf } from '../expressions/conditions.ts';
import { type Criteria, choicesOf } from '../matching/match.ts';
import { rulesOf } from '../matching/rules.ts';

/** The address of a webhook. */
export type Endpoint =
  /** An invalid URL is reported when the webhook is called. */
  | { readonly by: 'url'; readonly url: string; readonly authorities: string | undefined }
  | {
      readonly by: 'service';
      readonly namespace: string;
      readonly name: string;
      readonly port: number;
      readonly path: string;
      readonly authorities: string | undefined;
    };

/** One webhook of a configuration, parsed. */
export interface Hook {
  /** Distinguishes webhooks with the same name in different configurations. */
  readonly id: string;
  readonly configuration: string;
  /** Its configuration in its current generation, for the quarantine. */
  readonly evaluated: Evaluated;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly criteria: Criteria;
  readonly conditions: readonly CompiledExpression[];
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly timeoutSeconds: number;
  readonly hasSideEffects: boolean;
  readonly reviewVersions: readonly string[];
  /** Whether it is called again after later webhooks changed the object. */
  readonly isReinvocable: boolean;
}

/** The match conditions of a configuration in its current generation. */
export function evaluatedWebhooks({ kind, metadata }: KubeObject): Evaluated {
  return { identity: `webhooks ${metadata.uid} ${metadata.generation}`, name: `${kind} ${JSON.stringify(metadata.name)}` };
}

export function hooksOf(configuration: KubeObject): readonly Hook[] {
  const evaluated = evaluatedWebhooks(configuration);
  const { name = '' } = configuration.metadata;
  return itemsOf(configuration['webhooks']).map((hook) => hookOf(hook, { configuration: name, evaluated }));
}

function hookOf(hook: Fields, { configuration, evaluated }: Pick<Hook, 'configuration' | 'evaluated'>): Hook {
  const name = textOf(hook['name']);
  return {
    id: `${configuration}/${name}`,
    configuration,
    evaluated,
    name,
    endpoint: endpointOf(fieldsOf(hook['clientConfig'])),
    criteria: { rules: rulesOf(hook['rules']), excluded: [], ...choicesOf(hook) },
    conditions: conditionsOf(hook['matchConditions'], { params: false, authorizer: true }),
    failurePolicy: hook['failurePolicy'] === 'Ignore' ? 'Ignore' : 'Fail',
    timeoutSeconds: numberOf(hook['timeoutSeconds']) || 10,
    hasSideEffects: hook['sideEffects'] !== 'None' && hook['sideEffects'] !== 'NoneOnDryRun',
    reviewVersions: textsOf(hook['admissionReviewVersions']),
    isReinvocable: hook['reinvocationPolicy'] === 'IfNeeded',
  };
}

export function endpointOf(config: Readonly<Fields>): Endpoint {
  const bundle = textOf(config['caBundle']);
  const authorities = bundle === '' ? undefined : Buffer.from(bundle, 'base64').toString();
  const service = maybeFields(config['service']);
  if (service === undefined) return { by: 'url', url: textOf(config['url']), authorities };
  return {
    by: 'service',
    namespace: textOf(service['namespace']),
    name: textOf(service['name']),
    port: numberOf(service['port']) || 443,
    path: textOf(service['path']),
    authorities,
  };
}
