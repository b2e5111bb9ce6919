export type { Endpoints, PolicyRule, Product, ProductController } from './product.ts';
