import { restPath } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery';
import { problemType } from '../problems/problem.ts';
import { restResources } from '../resources/table.ts';
import type { Parameter, Route } from '../routes/route.ts';
import { ownSchemas, reference, resourceSchemas } from './schemas.ts';

const description =
  'Products of Capstan as plain JSON. Every path may begin with `/clusters/<workspace>`; without it, the workspace of the service account is meant, or the home of the ' +
  'user. The API server decides with the rights of the token.';

/** The document of OpenAPI 3.1 for these routes. */
export function openApiDocument(routes: readonly Route[]): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = `${restPath}${route.path}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Capstan REST API', version: 'v1', description },
    paths,
    components: {
      schemas: { ...Object.assign({}, ...restResources.map(resourceSchemas)), ...ownSchemas },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ token: [] }],
  };
}

function operationOf(route: Route): JsonObject {
  const { operationId, tag, summary, isPublic = false, parameters = [], body, path } = route;
  const variable = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId,
    tags: [tag],
    summary,
    ...(isPublic && { security: [] }),
    ...(variable.length + parameters.length > 0 && { parameters: [...variable, ...parameters.map(parameterOf)] }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { [bodyType(route)]: { schema: reference(body) } } },
    }),
    responses: responsesOf(route),
  };
}

const bodyType = ({ method }: Route): string => (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');

function parameterOf({ name, description: text, schema, place = 'query' }: Parameter): JsonObject {
  return { name, in: place, description: text, schema };
}

function responsesOf({ responses, operationId }: Route): JsonObject {
  const described = Object.entries(responses).map(([status, { description: text, schema, type = 'application/json' }]) => {
    const content: Record<string, JsonObject> = {};
    if (schema !== undefined) content[type] = { schema: reference(schema) };
    else if (type !== 'application/json') content[type] = { schema: { type: 'string' } };
    if (operationId.startsWith('list')) content['text/event-stream'] = { schema: { type: 'string' } };
    return [status, { description: text, ...(Object.keys(content).length > 0 && { content }) }] as const;
  });
  const problem = { description: 'The request failed.', content: { [problemType]: { schema: reference('Problem') } } };
  return { ...Object.fromEntries(described), default: problem };
}
