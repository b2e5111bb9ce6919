import { builtinOpenApiResources, OpenApiDocuments, type OpenApiResource, openapiV3Index, openapiV3Path } from '@capstan/machinery';
import { notFoundPage, type Page } from '../handlers/nonresource.ts';
import type { Exchange } from '../http/exchange.ts';
import { compressed } from '../http/reply.ts';

const protobufV2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

/** `/openapi/v2` and `/openapi/v3`: the schemas of everything that is served. Documents are made when somebody asks. */
export function openApiPages(): Map<string, Page> {
  const documents = new OpenApiDocuments({ title: 'Capstan', version: 'v1.34.1', revision: '1', capacity: 40 });
  const byPath = (): Map<string, OpenApiResource[]> => Map.groupBy(builtinOpenApiResources(), openapiV3Path);
  let paths: ReadonlyMap<string, string> | undefined;
  const hashes = (): ReadonlyMap<string, string> => (paths ??= new Map([...byPath().keys()].map((path) => [path, documents.hash(path)])));
  return new Map<string, Page>([
    ['/openapi/v3', (exchange) => exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(openapiV3Index(hashes())) })],
    [
      '/openapi/v3/',
      (exchange, info) => {
        const path = info.path.slice('/openapi/v3/'.length);
        const hash = hashes().get(path);
        if (hash === undefined) return notFoundPage(exchange);
        const asked = info.query.get('hash');
        if (asked === hash) {
          exchange.header('Cache-Control', 'public, immutable');
          exchange.header('Expires', new Date(Date.now() + 365 * 24 * 3600_000).toUTCString());
        } else if (asked !== null) {
          exchange.header('Location', `/openapi/v3/${path}?hash=${hash}`);
          return exchange.send({ code: 301, type: 'text/plain; charset=utf-8', body: '' });
        }
        exchange.header('Vary', 'Accept');
        if (tagged(exchange, hash)) return;
        compressed(exchange, { code: 200, type: 'application/json', body: documents.v3(path, () => byPath().get(path) ?? []).text });
      },
    ],
    [
      '/openapi/v2',
      (exchange) => {
        exchange.header('Vary', 'Accept');
        if (tagged(exchange, documents.hash('all'))) return;
        if ((exchange.headers.accept ?? '').includes(protobufV2)) {
          // The at sign of the name that clients ask by is not allowed in a media type.
          return exchange.send({ code: 200, type: protobufV2.replace('@', '.'), body: documents.v2Protobuf('all', builtinOpenApiResources) });
        }
        compressed(exchange, { code: 200, type: 'application/json', body: documents.v2('all', builtinOpenApiResources).text });
      },
    ],
  ]);
}

/** Sends the tag of a document; true when the client has it already and was told so. */
function tagged(exchange: Exchange, hash: string): boolean {
  exchange.header('ETag', `"${hash}"`);
  if (exchange.headers['if-none-match'] !== `"${hash}"`) return false;
  exchange.send({ code: 304, type: 'application/json', body: '' });
  return true;
}
