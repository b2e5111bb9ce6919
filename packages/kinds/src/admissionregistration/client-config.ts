import {
  type FieldError,
  type FieldPath,
  type Fields,
  fieldError,
  isAbsent,
  maybeFields,
  names,
  numberOf,
  textOf,
} from '@capstan/machinery';

/** Validates where a webhook is called: either a URL or a service, never both. */
export function clientConfigErrors(config: Readonly<Fields>, path: FieldPath): FieldError[] {
  const service = maybeFields(config['service']);
  const hasUrl = !isAbsent(config['url']);
  if (hasUrl === (service !== undefined)) return [fieldError.required(path, 'exactly one of url or service is required')];
  return service === undefined ? urlErrors(textOf(config['url']), path.child('url')) : serviceErrors(service, path.child('service'));
}

const form = '; desired format: https://host[/path]';

function urlErrors(text: string, path: FieldPath): FieldError[] {
  // Parsed by hand: a URL parser would repair input that must be rejected.
  const parts = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  if (parts === null || /\p{Cc}/u.test(text)) {
    return [
      fieldError.required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: net/url: invalid control character in URL${form}`),
    ];
  }
  const [, scheme = '', authority = '', , query = '', fragment = ''] = parts;
  const at = authority.lastIndexOf('@');
  const errors: FieldError[] = [];
  if (scheme.toLowerCase() !== 'https')
    errors.push(fieldError.invalid(path, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`));
  if (authority.slice(at + 1) === '') errors.push(fieldError.invalid(path, '', `host must be specified${form}`));
  if (at !== -1) errors.push(fieldError.invalid(path, authority.slice(0, at), 'user information is not permitted in the URL'));
  if (fragment !== '') errors.push(fieldError.invalid(path, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') errors.push(fieldError.invalid(path, query, 'query parameters are not permitted in the URL'));
  return errors;
}

function serviceErrors(service: Fields, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  // Kubernetes names the wrong field in each of these two errors; clients expect that.
  if (!service['namespace']) errors.push(fieldError.required(path.child('name')));
  if (!service['name']) errors.push(fieldError.required(path.child('namespace')));
  const wrongPort = names.portNumber(numberOf(service['port']));
  if (wrongPort.length > 0)
    errors.push(fieldError.invalid(path.child('port'), numberOf(service['port']), `port is not valid: ${wrongPort.join(', ')}`));
  return [...errors, ...pathErrors(textOf(service['path']), path.child('path'))];
}

/** Each of them shows the whole path, which may have a million segments. */
const mostErrors = 100;

function pathErrors(text: string, path: FieldPath): FieldError[] {
  if (text === '' || text === '/') return [];
  if (text === '//') return [fieldError.invalid(path, text, 'segment[0] may not be empty')];
  const errors: FieldError[] = [];
  if (!text.startsWith('/')) errors.push(fieldError.invalid(path, text, "must start with a '/'"));
  const steps = text.slice(1).replace(/\/$/, '').split('/');
  for (const [index, step] of steps.entries()) {
    if (errors.length >= mostErrors) break;
    if (step === '') errors.push(fieldError.invalid(path, text, `segment[${index}] may not be empty`));
    else for (const message of names.dns1123Subdomain(step)) errors.push(fieldError.invalid(path, text, `segment[${index}]: ${message}`));
  }
  return errors;
}
