import type { Method, Route } from './route.ts';

interface Branch {
  readonly next: Map<string, Branch>;
  /** The branch of a variable part, and its name. */
  variable?: { readonly name: string; readonly branch: Branch };
  readonly routes: Map<string, Route>;
}

export interface Match {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Finds the route of a path. */
export class Router {
  readonly #root: Branch = newBranch();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      let branch = this.#root;
      for (const segment of route.path.split('/').slice(1)) branch = step(branch, segment);
      if (branch.routes.has(route.method)) throw new Error(`there are two routes ${route.method} ${route.path}`);
      branch.routes.set(route.method, route);
    }
  }

  /** The route, the methods that the path has instead, or undefined if there is no such path. */
  find(method: string, segments: readonly string[]): Match | { readonly allowed: readonly Method[] } | undefined {
    let branch: Branch | undefined = this.#root;
    const parameters: Record<string, string> = {};
    for (const segment of segments) {
      const known: Branch | undefined = branch.next.get(segment);
      if (known === undefined && branch.variable !== undefined) parameters[branch.variable.name] = segment;
      branch = known ?? branch.variable?.branch;
      if (branch === undefined) return undefined;
    }
    if (branch.routes.size === 0) return undefined;
    const route = branch.routes.get(method === 'HEAD' ? 'GET' : method);
    return route === undefined ? { allowed: [...branch.routes.keys()] as Method[] } : { route, parameters };
  }
}

function newBranch(): Branch {
  return { next: new Map(), routes: new Map() };
}

function step(branch: Branch, segment: string): Branch {
  if (segment.startsWith('{')) {
    const name = segment.slice(1, -1);
    branch.variable ??= { name, branch: newBranch() };
    return branch.variable.branch;
  }
  const next = branch.next.get(segment) ?? newBranch();
  branch.next.set(segment, next);
  return next;
}
