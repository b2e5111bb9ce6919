import type { Page } from 'playwright-core';

/** Answers a request: with objects, with values one after the other, with an error, or never. Undefined leaves it to the server. */
export type LiveAnswer =
  | { readonly items: readonly object[] }
  | { readonly values: readonly unknown[] }
  | { readonly status: object }
  | 'silence'
  | undefined;

interface LiveRequest {
  readonly add?: string;
  readonly path?: string;
  readonly sample?: string;
  readonly selector?: { readonly fields?: string };
}

interface Named {
  readonly metadata?: { readonly name?: string };
}

/** The objects that a page asks for: all, or the one that it names. */
function selected(items: readonly Named[], fields = ''): readonly object[] {
  const [, name] = /^metadata\.name=(.+)$/.exec(fields) ?? [];
  return name === undefined ? items : items.filter(({ metadata }) => metadata?.name === name);
}

/** The messages of the console that give an answer. */
function messagesOf(answer: Exclude<LiveAnswer, undefined | 'silence'>, fields: string | undefined): readonly object[] {
  if ('items' in answer) return [{ type: 'list', items: selected(answer.items, fields) }];
  if ('values' in answer) return answer.values.map((value) => ({ type: 'sample', value }));
  return [{ type: 'error', ...answer }];
}

/** Stands between a page and the live stream of the console. An answer may come later. */
export async function answerLive(page: Page, answer: (path: string) => LiveAnswer | Promise<LiveAnswer>): Promise<void> {
  await page.routeWebSocket(/\/live$/, (stream) => {
    const server = stream.connectToServer();
    stream.onMessage(async (text) => {
      const { add: key, path, sample, selector } = JSON.parse(String(text)) as LiveRequest;
      const given = key === undefined ? undefined : await answer(path ?? sample ?? '');
      if (given === undefined) server.send(text);
      else if (given !== 'silence')
        for (const message of messagesOf(given, selector?.fields)) stream.send(JSON.stringify({ key, ...message }));
    });
  });
}
