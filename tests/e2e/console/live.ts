import type { Page } from 'playwright-core';

/** Answers a request for a list: with objects, with an error, or never. Undefined leaves it to the server. */
export type LiveAnswer = { readonly items: readonly object[] } | { readonly status: object } | 'silence' | undefined;

interface LiveRequest {
  readonly add?: string;
  readonly path?: string;
  readonly sample?: string;
}

/** Stands between a page and the live stream of the console. */
export async function answerLive(page: Page, answer: (path: string) => LiveAnswer): Promise<void> {
  await page.routeWebSocket(/\/live$/, (stream) => {
    const server = stream.connectToServer();
    stream.onMessage((text) => {
      const { add: key, path, sample } = JSON.parse(String(text)) as LiveRequest;
      const given = key === undefined ? undefined : answer(path ?? sample ?? '');
      if (given === undefined) server.send(text);
      else if (given !== 'silence')
        stream.send(JSON.stringify('items' in given ? { key, type: 'list', ...given } : { key, type: 'error', ...given }));
    });
  });
}
