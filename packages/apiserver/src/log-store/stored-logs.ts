import { Readable } from 'node:stream';
import { nodeUnitName, unitContainer, unitLabel, unitRunAnnotation } from '@capstan/api';
import { type KubeObject, status } from '@capstan/machinery';
import { logOptions, readLog } from '@capstan/streams';
import type { StoredLogs } from '../connect/stored-logs.ts';
import { nodeNameOf } from '../connect/target.ts';
import type { LogStore } from './store.ts';

/** Readers at the same time: each holds a file open. */
const mostReaders = 64;

/** Output of pods that show units, from the store of this server. The platform writes these pods, so they say which start of which unit they show. */
export function storedLogs(store: Pick<LogStore, 'files'>): StoredLogs {
  let readers = 0;
  return {
    async open({ pod, container, context, signal }) {
      const nodeUnit = nodeUnitOf(pod);
      if (nodeUnit === undefined || container !== unitContainer) return undefined;
      const options = logOptions(context.info.query, context.now().getTime());
      if (typeof options === 'string') throw status.badRequest(options);
      const place = { cluster: context.cluster, namespace: pod.metadata.namespace ?? '', nodeUnit, node: nodeNameOf(pod) };
      const files = await store.files(place, options.previous ? 1 : 0);
      if (files === undefined) return undefined;
      if (readers >= mostReaders) throw status.tooManyRequests(`${mostReaders} logs of the store are being read already`, 1);
      readers++;
      const log = { files, complete: true };
      const body = Readable.from(
        readLog(() => Promise.resolve(log), { ...options, follow: false }, signal),
        { objectMode: false },
      );
      return body.once('close', () => readers--);
    },
  };
}

/** The name of the NodeUnit that a pod shows. */
function nodeUnitOf({ metadata: { labels, annotations, ownerReferences } }: KubeObject): string | undefined {
  const run = Number(annotations?.[unitRunAnnotation]);
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  if (labels?.[unitLabel] === undefined || owner?.uid === undefined || !Number.isSafeInteger(run)) return undefined;
  return nodeUnitName(owner.uid, run);
}
