import {
  type FieldError,
  type FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  maybeFields,
  names,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { clientConfigErrors } from '../admissionregistration/client-config.ts';
import { bundleProblem } from './ca-bundle.ts';

const known = ['v1', 'v1beta1'];

export function conversionErrors(conversion: Readonly<Fields>, at: FieldPath, anyBundle: boolean): FieldError[] {
  const strategy = textOf(conversion['strategy']);
  const webhook = fieldsOf(conversion['webhook']);
  const config = maybeFields(webhook['clientConfig']);
  const reviewVersions = textsOf(webhook['conversionReviewVersions']);
  const errors: FieldError[] = [];
  if (strategy === '') errors.push(fieldError.required(at.child('strategy')));
  else if (strategy !== 'None' && strategy !== 'Webhook')
    errors.push(fieldError.notSupported(at.child('strategy'), strategy, ['None', 'Webhook']));
  if (strategy === 'Webhook') {
    const place = at.child('webhookClientConfig');
    if (config === undefined) errors.push(fieldError.required(place, 'required when strategy is set to Webhook'));
    else errors.push(...clientConfigErrors(config, place), ...(anyBundle ? [] : bundleErrors(textOf(config['caBundle']), place)));
    errors.push(...reviewVersionErrors(reviewVersions, at.child('conversionReviewVersions')));
    return errors;
  }
  const why = 'should not be set when strategy is not set to Webhook';
  if (config !== undefined) errors.push(fieldError.forbidden(at.child('webhookClientConfig'), why));
  if (reviewVersions.length > 0) errors.push(fieldError.forbidden(at.child('conversionReviewVersions'), why));
  return errors;
}

function bundleErrors(bundle: string, at: FieldPath): FieldError[] {
  const problem = bundleProblem(bundle);
  return problem === undefined ? [] : [fieldError.invalid(at.child('caBundle'), bundle, problem)];
}

function reviewVersionErrors(versions: readonly string[], at: FieldPath): FieldError[] {
  if (versions.length === 0) return [fieldError.required(at)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) errors.push(fieldError.invalid(at.index(index), version, 'duplicate version'));
    else for (const problem of names.dns1035Label(version)) errors.push(fieldError.invalid(at.index(index), version, problem));
    seen.add(version);
  }
  if (!known.some((version) => seen.has(version)))
    errors.push(fieldError.invalid(at, versions, `must include at least one of ${known.join(', ')}`));
  return errors;
}
