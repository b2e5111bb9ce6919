import type { UpstreamHealth } from '@capstan/serving';
import { docsPage, docsPolicy } from '../openapi/docs-page.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { Route } from './route.ts';

/** The routes about the server itself, for everybody. `all` are the others. */
export function aboutRoutes(all: readonly Route[], health: Pick<UpstreamHealth, 'problem'>): readonly Route[] {
  let document = '';
  let page = '';
  const own: Route[] = [
    {
      method: 'GET',
      path: '/health',
      operationId: 'getHealth',
      tag: 'about',
      summary: 'Say whether requests can be served.',
      isPublic: true,
      responses: { 200: { description: 'They can.', schema: 'Health' }, 503: { description: 'They cannot.', schema: 'Health' } },
      handler: async () => {
        const problem = await health.problem();
        if (problem === undefined) return { status: 200, body: { status: 'ok', apiserver: 'ok' } };
        return { status: 503, body: { status: 'unavailable', apiserver: problem } };
      },
    },
    {
      method: 'GET',
      path: '/openapi.json',
      operationId: 'getOpenApi',
      tag: 'about',
      summary: 'Describe this API as an OpenAPI 3.1 document.',
      isPublic: true,
      isStream: true,
      responses: { 200: { description: 'The document.', schema: 'OpenApiDocument' } },
      handler: () => ({ status: 200, body: document, headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' } }),
    },
    {
      method: 'GET',
      path: '/docs',
      operationId: 'getDocs',
      tag: 'about',
      summary: 'Describe this API as a page for people.',
      isPublic: true,
      isStream: true,
      responses: { 200: { description: 'The page.', type: 'text/html' } },
      handler: () => ({
        status: 200,
        body: page,
        headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': docsPolicy, 'referrer-policy': 'no-referrer' },
      }),
    },
  ];
  const described = openApiDocument([...all, ...own]);
  document = JSON.stringify(described);
  page = docsPage([...all, ...own], described);
  return own;
}
