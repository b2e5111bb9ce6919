import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate, Outlet } from '@tanstack/react-router';
import { Empty, Failure, Loading } from './components/states.tsx';
import { usePerson } from './modules/session/person.ts';
import { Shell } from './modules/shell/shell.tsx';
import { messageOf } from './modules/toasts/toasts.ts';
import { plainPagePath } from './modules/workspaces/path.ts';
import { recentWorkspaces } from './modules/workspaces/recent.ts';
import { SessionGate } from './session-gate.tsx';

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => <Empty icon="search" title="There is no such page" action={<a href="/">Go to the first page</a>} />,
  errorComponent: ({ error }) => (
    <Failure
      title="The page failed"
      detail={messageOf(error)}
      next="Load it again. If it stays, report it with this message."
      onRetry={() => location.reload()}
    />
  ),
});
const gate = createRoute({ getParentRoute: () => root, id: 'signed-in', component: SessionGate });

function Start() {
  const { home } = usePerson();
  return <Navigate to="/w/$workspace" params={{ workspace: recentWorkspaces()[0] ?? home }} replace />;
}

const start = createRoute({ getParentRoute: () => gate, path: '/', component: Start });
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in.tsx'), 'SignIn'),
});
const workspace = createRoute({ getParentRoute: () => gate, path: '/w/$workspace', component: Shell });

interface Parts {
  readonly tab?: string;
  readonly folder?: string;
  readonly step?: string;
  readonly task?: string;
}

/** Tabs, folders, and steps and tasks whose output is shown are in the address, so that links lead to them. */
const withParts = ({ tab, folder, step, task }: Record<string, unknown>): Parts => ({
  ...(typeof tab === 'string' && { tab }),
  ...(typeof folder === 'string' && { folder }),
  ...(typeof step === 'string' && { step }),
  ...(typeof task === 'string' && { task }),
});

const pages = [
  createRoute({ getParentRoute: () => workspace, path: '/', component: lazyRouteComponent(() => import('./pages/home/home.tsx'), 'Home') }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/units',
    component: lazyRouteComponent(() => import('./pages/units/unit-list.tsx'), 'UnitList'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/units/new',
    component: lazyRouteComponent(() => import('./pages/units/new-unit.tsx'), 'NewUnit'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/units/$namespace/$name',
    validateSearch: withParts,
    component: lazyRouteComponent(() => import('./pages/units/unit-detail.tsx'), 'UnitDetail'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/apps',
    component: lazyRouteComponent(() => import('./pages/apps/app-list.tsx'), 'AppList'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/apps/$namespace/$name',
    validateSearch: withParts,
    component: lazyRouteComponent(() => import('./pages/apps/instance-detail.tsx'), 'InstanceDetail'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/catalog',
    component: lazyRouteComponent(() => import('./pages/catalog/catalog.tsx'), 'Catalog'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/catalog/$app',
    component: lazyRouteComponent(() => import('./pages/catalog/new-instance.tsx'), 'NewInstance'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/storages',
    component: lazyRouteComponent(() => import('./pages/storages/storage-list.tsx'), 'StorageList'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/storages/$namespace/$name',
    validateSearch: withParts,
    component: lazyRouteComponent(() => import('./pages/storages/storage-detail.tsx'), 'StorageDetail'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/fleet',
    component: lazyRouteComponent(() => import('./pages/fleet/fleet-overview.tsx'), 'FleetOverview'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/fleet/$name',
    validateSearch: withParts,
    component: lazyRouteComponent(() => import('./pages/fleet/node-detail.tsx'), 'NodeDetail'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/allocations',
    component: lazyRouteComponent(() => import('./pages/allocations/allocation-list.tsx'), 'AllocationList'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/tenancy',
    validateSearch: withParts,
    component: lazyRouteComponent(() => import('./pages/tenancy/tenancy.tsx'), 'Tenancy'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/api',
    component: lazyRouteComponent(() => import('./pages/api/kind-list.tsx'), 'KindList'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/api/new',
    component: lazyRouteComponent(() => import('./pages/api/new-object.tsx'), 'NewObject'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/api/$group/$version/$resource',
    component: lazyRouteComponent(() => import('./pages/api/object-list.tsx'), 'ObjectList'),
  }),
  createRoute({
    getParentRoute: () => workspace,
    path: '/api/$group/$version/$resource/$namespace/$name',
    component: lazyRouteComponent(() => import('./pages/api/object-detail.tsx'), 'ObjectDetail'),
  }),
];

const { pathname, search, hash } = location;
if (pathname !== plainPagePath(pathname)) history.replaceState(history.state, '', plainPagePath(pathname) + search + hash);

export const router = createRouter({
  routeTree: root.addChildren([signIn, gate.addChildren([start, workspace.addChildren(pages)])]),
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Loading />,
  scrollRestoration: true,
  // Paths of workspaces have colons.
  pathParamsAllowedCharacters: [':'],
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
