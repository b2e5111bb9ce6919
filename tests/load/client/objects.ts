/** The body of a ConfigMap of about `size` bytes, preceded by further data. */
export function configMapBody(name: string, size: number, data = ''): string {
  const head = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{${data}"fill":"`;
  return `${head}${'x'.repeat(Math.max(0, size - head.length - 3))}"}}`;
}

export function configMapsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}
