import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { Layout } from './layout.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
}

/** Asks the kube-apiserver of this server as the administrator. */
export function askApi(layout: Layout, method: string, path: string, body?: object): Promise<ApiAnswer> {
  const read = (file: string): Buffer => readFileSync(join(layout.tls, file));
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return ask(
    {
      host: '127.0.0.1',
      port: layout.apiPort,
      path,
      method,
      ca: read('server-ca.crt'),
      cert: read('client-admin.crt'),
      key: read('client-admin.key'),
      headers: body === undefined ? {} : { 'content-type': type },
    },
    body === undefined ? undefined : JSON.stringify(body),
  );
}

export function ask(options: Parameters<typeof request>[1] & object, body?: string): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...options, agent: false, timeout: 10_000 }, (answer) => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('end', () => resolve({ status: answer.statusCode ?? 0, body: text }));
    });
    asked.on('error', reject).on('timeout', () => asked.destroy(new Error('no answer within 10 s')));
    asked.end(body);
  });
}
