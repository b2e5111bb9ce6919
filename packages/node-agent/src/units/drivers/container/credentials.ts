interface Entry {
  readonly auth?: string;
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
}

/** The host of the registry of an image, and the rest of its name. Names without a host belong to Docker Hub. */
export function registryOf(image: string): { readonly host: string; readonly path: string } {
  const slash = image.indexOf('/');
  const first = slash < 0 ? '' : image.slice(0, slash);
  return first === 'localhost' || /[.:]/.test(first) ? { host: first, path: image.slice(slash + 1) } : { host: 'docker.io', path: image };
}

const hubNames = ['docker.io', 'index.docker.io', 'registry-1.docker.io'];

/** The header X-Registry-Auth for an image; undefined if the configuration has nothing for its registry. */
export function registryAuth(image: string, pullConfig: string | undefined): string | undefined {
  const entry = entryFor(image, pullConfig);
  if (entry === undefined) return undefined;
  const [username, password] = entry.auth === undefined ? [entry.username, entry.password] : split(entry.auth);
  const { identitytoken } = entry;
  const value = identitytoken === undefined || identitytoken === '' ? { username, password } : { identitytoken };
  // Podman insists on the padding.
  return Buffer.from(JSON.stringify(value)).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** The longest key wins: a key can name a part of a registry. */
function entryFor(image: string, pullConfig: string | undefined): Entry | undefined {
  const { host, path } = registryOf(image);
  const names = hubNames.includes(host) ? hubNames : [host];
  const matching = Object.entries(parse(pullConfig))
    .map(([key, entry]) => ({ key: key.replace(/^https?:\/\//, '').replace(/\/(v[12]\/?)?$/, ''), entry }))
    .filter(({ key }) => names.some((name) => key === name || `${name}/${path}`.startsWith(`${key}/`)));
  return matching.sort((a, b) => b.key.length - a.key.length)[0]?.entry;
}

function parse(pullConfig: string | undefined): Record<string, Entry> {
  if (pullConfig === undefined) return {};
  try {
    return (JSON.parse(pullConfig) as { readonly auths?: Record<string, Entry> }).auths ?? {};
  } catch {
    return {};
  }
}

function split(auth: string): [string, string] {
  const text = Buffer.from(auth, 'base64').toString();
  const colon = text.indexOf(':');
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}
