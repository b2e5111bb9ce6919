import { fieldsOf, itemsOf, type KubeObject, status, textOf } from '@capstan/machinery';

const containerFields = ['containers', 'initContainers', 'ephemeralContainers'];
const chosenContainer = 'kubectl.kubernetes.io/default-container';

/** The container that a request means. A pod with several containers needs a name, unless it names a default itself. */
export function containerOf(pod: KubeObject, asked: string): string {
  const { name } = pod.metadata;
  const spec = fieldsOf(pod['spec']);
  const namesOf = (field: string): string[] => itemsOf(spec[field]).map((container) => textOf(container['name']));
  const all = containerFields.flatMap(namesOf);
  if (asked !== '') {
    if (!all.includes(asked)) throw status.badRequest(`container ${asked} is not valid for pod ${name}`);
    return asked;
  }
  const own = namesOf('containers');
  if (own.length === 1) return own[0]!;
  const chosen = pod.metadata.annotations?.[chosenContainer] ?? '';
  if (all.includes(chosen)) return chosen;
  const started = namesOf('initContainers');
  const beside = started.length > 0 ? ` or one of the init containers: [${started.join(' ')}]` : '';
  throw status.badRequest(`a container name must be specified for pod ${name}, choose one of: [${own.join(' ')}]${beside}`);
}
