export { operator } from './jobs/product.ts';
export { clientSource } from './openapi/client-source.ts';
export { openApiDocument } from './openapi/document.ts';
export { type RuntimeApi, type RuntimeApiOptions, startRuntimeApi } from './process/runtime-api.ts';
export { defaultLimits, type RestLimits } from './process/server.ts';
export { allRoutes } from './routes/all.ts';
