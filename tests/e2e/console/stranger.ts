import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StrangerSite extends AsyncDisposable {
  readonly url: string;
}

/** A site on another port of the same machine, to which browsers send the same cookies. */
export async function startStranger(): Promise<StrangerSite> {
  const server = createServer((_request, answer) => {
    answer.setHeader('content-type', 'text/html');
    answer.end('<!doctype html><title>Free GPUs</title>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A script for a page of the stranger. It tries to read, write, listen and include, and returns how each went. */
export const theft = (console: string, list: string): string => `(async () => {
  const outcome = (promise) => promise.then(() => 'succeeded', () => 'failed');
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'stolen' } });
  const write = (options) => fetch('${console}/kube${list}', { method: 'POST', credentials: 'include', body, ...options });
  const listening = outcome(new Promise((done, failed) =>
    Object.assign(new WebSocket('${console.replace('http', 'ws')}/live'), { onopen: done, onerror: failed })));
  const form = Object.assign(document.createElement('form'), { action: '${console}/kube${list}', method: 'POST', target: 'frame', enctype: 'text/plain' });
  form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1) + ',"a', value: '":1}' }));
  const frame = Object.assign(document.createElement('iframe'), { name: 'frame' });
  document.body.append(frame, form);
  const framed = new Promise((done) => (frame.onload = done));
  form.submit();
  const included = outcome(new Promise((done, failed) =>
    document.body.append(Object.assign(document.createElement('script'), { src: '${console}/kube${list}', onload: done, onerror: failed }))));
  await write({ mode: 'no-cors', headers: { 'content-type': 'text/plain' } }).catch(() => {});
  await framed;
  return {
    read: await outcome(fetch('${console}/session', { credentials: 'include' }).then((answer) => answer.text())),
    write: await outcome(write({ headers: { 'content-type': 'application/json', 'x-capstan-console': '1' } })),
    listen: await listening,
    include: await included,
    look: frame.contentDocument === null ? 'failed' : 'succeeded',
  };
})()`;
