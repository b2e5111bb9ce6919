/** The most digits of which every number is a version for the API server. It answers others with status 500, as Kubernetes does. */
const form = /^\d{1,19}$/;

export const isVersion = (text: string): boolean => form.test(text);
