export { namespaceController } from './namespaces/controller.ts';
