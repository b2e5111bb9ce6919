import { isSecret } from './secret.ts';

/** How the cookie of sessions is called, and whether browsers send it over https only. */
export interface CookieStyle {
  readonly name: string;
  readonly secure: boolean;
}

/** Cookies do not know ports. So over http, where only programs of one machine listen, the port is part of the name. */
export function cookieStyle({ secure, port }: { readonly secure: boolean; readonly port: number }): CookieStyle {
  return { secure, name: secure ? '__Host-capstan-console' : `capstan-console-${port}` };
}

/** The secret of a session in a `Cookie` header. Undefined if there is none, or several that differ: somebody else may have set one. */
export function readCookie(header: string | undefined, { name }: CookieStyle): string | undefined {
  const found = new Set<string>();
  for (const part of (header ?? '').split(';')) {
    const mark = part.indexOf('=');
    if (mark >= 0 && part.slice(0, mark).trim() === name) found.add(part.slice(mark + 1).trim());
  }
  const [value] = found;
  return found.size === 1 && isSecret(value!) ? value : undefined;
}

export function writeCookie({ name, secure }: CookieStyle, secret: string, maxAge: number): string {
  return `${name}=${secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.max(0, Math.floor(maxAge / 1000))}${secure ? '; Secure' : ''}`;
}

export function clearCookie(style: CookieStyle): string {
  return writeCookie(style, '', 0);
}
