import type { NodeHandlers } from '../../requests/router.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { serveUnitAttach, serveUnitExec } from './command.ts';
import { serveUnitLog } from './log.ts';
import { serveUnitPort } from './port.ts';
import { serveUnitProxy } from './proxy.ts';
import type { UploadFolders } from './upload.ts';

export interface UnitHandlersOptions {
  readonly engine: Pick<UnitEngine, 'runs' | 'removed' | 'driverOf' | 'launched'>;
  readonly uploads: UploadFolders;
}

/** Serves the subresources of the Pods that show units. */
export function unitHandlers({ engine, uploads }: UnitHandlersOptions): Required<Omit<NodeHandlers, 'node'>> {
  return {
    logs: (request) => serveUnitLog(request, { engine, folder: uploads.folder }),
    exec: (request) => serveUnitExec(request, { engine, uploads }),
    attach: (request) => serveUnitAttach(request, { engine, uploads }),
    portforward: (request) => serveUnitPort(request, engine),
    proxy: (request) => serveUnitProxy(request, engine),
  };
}
