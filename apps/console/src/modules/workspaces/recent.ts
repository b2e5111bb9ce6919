const key = 'capstan.workspaces';
const most = 8;

/** The workspaces that this browser has shown, the last one first. Names of workspaces are no secrets, so they may be kept here. */
export function recentWorkspaces(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string').slice(0, most) : [];
  } catch {
    return [];
  }
}

export function rememberWorkspace(path: string): void {
  try {
    localStorage.setItem(key, JSON.stringify([path, ...recentWorkspaces().filter((one) => one !== path)].slice(0, most)));
  } catch {
    // Without storage, the list is empty at the next visit.
  }
}

export function forgetWorkspaces(): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // There was nothing to forget.
  }
}
