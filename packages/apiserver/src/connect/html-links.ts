import type { Readable } from 'node:stream';
import { Transform, type TransformCallback } from 'node:stream';
import { createDeflate, createGunzip, createGzip, createInflate } from 'node:zlib';
import { rewriteLocation } from './proxy-headers.ts';

/** The attributes with links, by element, as kube-apiserver knows them. */
const links: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    ...{ a: 'href', applet: 'codebase', area: 'href', audio: 'src', base: 'href', blockquote: 'cite', body: 'background' },
    ...{ button: 'formaction', command: 'icon', del: 'cite', embed: 'src', form: 'action', frame: 'longdesc src', head: 'profile' },
    ...{ html: 'manifest', iframe: 'longdesc src', img: 'longdesc src usemap', input: 'src formaction usemap', ins: 'cite' },
    ...{ link: 'href', object: 'classid codebase data usemap', q: 'cite', script: 'src', source: 'src', video: 'poster src' },
  }).map(([element, attributes]) => [element, new Set(attributes.split(' '))]),
);
/** Elements that contain no others. */
const rawElements: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes']);
/** Longer tags are left alone. */
const longestTag = 16 << 10;

export interface ProxyPlace {
  readonly origin: string;
  readonly path: string;
  readonly prefix: string;
}

/** The body of a proxied response. In pages, links to the target itself lead through the proxy, as with kube-apiserver. */
export function proxiedBody(
  body: Readable,
  { code, type, encoding }: { readonly code: number; readonly type: string; readonly encoding: string | undefined },
  place: ProxyPlace,
): Readable {
  // A part of a page has to keep its length.
  if (!/^text\/html\s*(?:;|$)/i.test(type) || code === 206) return body;
  const rewriter = new LinkRewriter((link) => rewriteLink(link, place));
  if (encoding === undefined || encoding === '' || encoding === 'identity') return chain(body, rewriter);
  if (encoding === 'gzip') return chain(body, createGunzip(), rewriter, createGzip());
  if (encoding === 'deflate') return chain(body, createInflate(), rewriter, createDeflate());
  return body;
}

/** A relative link leads to the right place already. */
function rewriteLink(link: string, place: ProxyPlace): string {
  const isAbsolute = /^https?:\/\//i.test(link);
  if (!isAbsolute && (!link.startsWith('/') || link.startsWith('//'))) return link;
  if (!isAbsolute) return link === place.prefix || link.startsWith(`${place.prefix}/`) ? link : `${place.prefix}${link}`;
  return rewriteLocation(link, place);
}

/** Connects streams. One that breaks off breaks off the last, and the first ends with it. `pipeline` takes some HTTP/2 streams for broken. */
function chain(first: Readable, ...rest: readonly Transform[]): Readable {
  let from = first;
  for (const to of rest) {
    const source = from;
    source.on('error', (error) => to.destroy(error));
    source.on('close', () => {
      if (!source.readableEnded) to.destroy(new Error('the body ended early'));
    });
    to.on('close', () => source.destroy());
    from = source.pipe(to);
  }
  return from;
}

/** Changes the links in a page as it arrives. Bytes that are no links stay as they are, in any encoding that has ASCII in it. */
export class LinkRewriter extends Transform {
  readonly #rewrite: (link: string) => string;
  /** The beginning of something whose end has not arrived. */
  #pending = '';
  /** The text that ends a comment or an element without others in it; undefined outside of them. */
  #until: string | undefined;

  constructor(rewrite: (link: string) => string) {
    super();
    this.#rewrite = rewrite;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, Buffer.from(this.#take(this.#pending + chunk.toString('latin1')), 'latin1'));
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.#pending, 'latin1'));
  }

  #take(text: string): string {
    let [at, out] = [0, ''];
    while (at < text.length) {
      const step = this.#until === undefined ? this.#markup(text, at) : this.#raw(text, at, this.#until);
      if (step === undefined) break;
      out += step.text;
      at = step.next;
    }
    this.#pending = text.slice(at);
    return out;
  }

  /** Everything up to the next tag, and the tag. Undefined if its end has not arrived. */
  #markup(text: string, at: number): { text: string; next: number } | undefined {
    const start = text.indexOf('<', at);
    if (start < 0) return { text: text.slice(at), next: text.length };
    if (start > at) return { text: text.slice(at, start), next: start };
    const beginning = text.slice(at, at + 4);
    if (beginning === '<!--') {
      this.#until = '-->';
      return { text: beginning, next: at + 4 };
    }
    if ('<!--'.startsWith(beginning)) return undefined;
    if (!/^<[a-z]/i.test(beginning)) return { text: '<', next: at + 1 };
    const end = tagEnd(text, at);
    // All of it is left alone, so that a page of beginnings costs no more than another.
    const past = at + longestTag;
    if (end === undefined) return text.length >= past ? { text: text.slice(at, past), next: past } : undefined;
    const name = /^[^\s/>]+/.exec(text.slice(at + 1, end))![0].toLowerCase();
    if (rawElements.has(name)) this.#until = `</${name}`;
    const attributes = links.get(name);
    const tag = text.slice(at, end);
    return { text: attributes === undefined ? tag : rewriteTag(tag, attributes, this.#rewrite), next: end };
  }

  #raw(text: string, at: number, until: string): { text: string; next: number } | undefined {
    const search = new RegExp(until, 'gi');
    search.lastIndex = at;
    const end = search.exec(text)?.index;
    if (end !== undefined) {
      this.#until = undefined;
      return { text: text.slice(at, end), next: end };
    }
    // The end may have arrived in part.
    const sure = text.length - until.length + 1;
    return sure > at ? { text: text.slice(at, sure), next: sure } : undefined;
  }
}

/** Behind the `>` of a tag, which may be in quotes before that. */
function tagEnd(text: string, start: number): number | undefined {
  let quote = '';
  const last = Math.min(text.length, start + longestTag);
  for (let at = start; at < last; at++) {
    const character = text[at]!;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at + 1;
  }
  return undefined;
}

const isSpace = (character: string | undefined): boolean => character !== undefined && ' \t\n\r\f'.includes(character);

function rewriteTag(tag: string, attributes: ReadonlySet<string>, rewrite: (link: string) => string): string {
  let [out, copied, at] = ['', 0, 1];
  const skip = (isSkipped: (character: string | undefined) => boolean): void => {
    while (at < tag.length && isSkipped(tag[at])) at++;
  };
  const isInName = (character: string | undefined): boolean => !isSpace(character) && character !== '/' && character !== '>';
  skip(isInName);
  while (at < tag.length - 1) {
    skip((character) => isSpace(character) || character === '/');
    const start = at++;
    skip((character) => isInName(character) && character !== '=');
    const name = tag.slice(start, at).toLowerCase();
    skip(isSpace);
    if (tag[at] !== '=') continue;
    at++;
    skip(isSpace);
    const quote = tag[at] === '"' || tag[at] === "'" ? tag[at]! : '';
    const from = quote === '' ? at : at + 1;
    if (quote === '') skip((character) => !isSpace(character) && character !== '>');
    else at = tag.indexOf(quote, from);
    const value = tag.slice(from, at);
    if (attributes.has(name)) {
      out += tag.slice(copied, from) + rewrite(value);
      copied = at;
    }
    if (quote !== '') at++;
  }
  return out + tag.slice(copied);
}
