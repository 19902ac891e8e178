import type { FastifyInstance } from 'fastify';

interface Path {
  form: RegExp;
  /** Of two forms that fit, the one with fewer is meant, as in the router. */
  parameters: number;
  methods: Set<string>;
}

/** The methods of a path, sorted; undefined for a path that leads nowhere. */
export type MethodsOf = (path: string) => string | undefined;

/** Notes every route that is registered from now on: what `Allow` names, in 405 and to OPTIONS (RFC 9110 §9.3.7, §15.5.6). */
export function collectMethods(app: FastifyInstance): MethodsOf {
  const paths = new Map<string, Path>();
  app.addHook('onRoute', ({ url, method }) => {
    let path = paths.get(url);
    if (path === undefined) {
      const form = url
        .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
        .replaceAll(/:\w+/g, '[^/]+')
        .replaceAll('*', '.*');
      const parameters = url.split(/[:*]/).length;
      path = { form: new RegExp(`^${form}$`), parameters, methods: new Set(['OPTIONS']) };
      paths.set(url, path);
    }
    for (const each of [method].flat()) path.methods.add(each);
  });
  return (asked) => {
    const fitting = [...paths.values()].filter(({ form }) => form.test(asked));
    const [meant] = fitting.toSorted((one, other) => one.parameters - other.parameters);
    return meant && [...meant.methods].sort().join(', ');
  };
}
